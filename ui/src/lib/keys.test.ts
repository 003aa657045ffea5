import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ActionId, hearKeys, KEYS, keyText, press } from "./keys";
import { prefer } from "./prefs.svelte";

let heard: ActionId[] = [];
let stop: () => void;

beforeEach(() => {
  heard = [];
  const ids = Object.keys(KEYS) as ActionId[];
  stop = hearKeys(Object.fromEntries(ids.map((id) => [id, () => heard.push(id)])));
});
afterEach(() => {
  stop();
  prefer({ letterKeys: true });
  document.body.replaceChildren();
});

function type(key: string, how: KeyboardEventInit = {}, target: Element = document.body): void {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...how });
  target.addEventListener("keydown", (seen) => press(seen as KeyboardEvent), { once: true });
  target.dispatchEvent(event);
}

describe("keys", () => {
  test.each([
    ["j", {}, "down"],
    ["G", { shiftKey: true }, "last"],
    ["R", { shiftKey: true }, "review"],
    ["?", { shiftKey: true }, "sheet"],
    ["/", {}, "search"],
    ["k", { ctrlKey: true }, "palette"],
    ["z", { ctrlKey: true }, "undo"],
    [",", { ctrlKey: true }, "settings"],
    ["Escape", {}, "back"],
  ] as [string, KeyboardEventInit, ActionId][])("%s with %o does %s", (key, how, action) => {
    type(key, how);
    expect(heard).toEqual([action]);
  });

  test("g alone does nothing, g g goes to the first", () => {
    type("g");
    expect(heard).toEqual([]);
    type("g");
    expect(heard).toEqual(["first"]);
  });

  test("a letter with Ctrl is not the letter", () => {
    type("e", { ctrlKey: true });
    expect(heard).toEqual([]);
  });

  test.each(["input", "textarea", "select"])("letters typed into %s stay there", (tag) => {
    const field = document.body.appendChild(document.createElement(tag));
    type("e", {}, field);
    type("z", { ctrlKey: true }, field);
    expect(heard).toEqual([]);
    type("k", { ctrlKey: true }, field);
    expect(heard).toEqual(["palette"]);
  });

  test("Enter on a button is the button's", () => {
    const button = document.body.appendChild(document.createElement("button"));
    type("Enter", {}, button);
    expect(heard).toEqual([]);
  });

  test("an open dialog keeps the keys", () => {
    const dialog = document.body.appendChild(document.createElement("dialog"));
    dialog.setAttribute("open", "");
    type("e");
    expect(heard).toEqual([]);
  });

  test("switched off, letters do nothing and commands still do", () => {
    prefer({ letterKeys: false });
    type("e");
    type("R", { shiftKey: true });
    type("?");
    expect(heard).toEqual([]);
    type("Escape");
    type("k", { ctrlKey: true });
    expect(heard).toEqual(["back", "palette"]);
  });

  test("the newest hearer gets the key, and gives it back", () => {
    let newest = 0;
    const end = hearKeys({ done: () => newest++ });
    type("e");
    expect([newest, heard]).toEqual([1, []]);
    end();
    type("e");
    expect(heard).toEqual(["done"]);
  });

  test("no two actions share a key", () => {
    const all = Object.values(KEYS).map((key) => key.keys);
    expect(new Set(all).size).toBe(all.length);
  });

  test("keys are shown as people read them", () => {
    expect([keyText("Shift+R"), keyText("Mod+K"), keyText("g g"), keyText("e")]).toEqual([
      "⇧R",
      "Ctrl K",
      "g g",
      "e",
    ]);
  });
});
