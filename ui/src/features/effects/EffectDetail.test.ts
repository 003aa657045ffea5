import { fireEvent, render, screen, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { EffectView } from "../../api/generated/EffectView";
import type { EntryView } from "../../api/generated/EntryView";
import { Refusal } from "../../host";
import { notices } from "../../lib/notices.svelte";
import { prefer } from "../../lib/prefs.svelte";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import { account, effect, entry, inboxPage, observer, status } from "../../testing/views";

let host: Script;
let shown: EffectView;
let entries: EntryView[];

beforeEach(() => {
  prefer({ cursor: null, unfolded: [], lastHash: "", firstRunSkipped: [] });
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  shown = effect({ content: "<!-- marker -->\n**CHANGES** <img src=x onerror=alert(1)>\n" });
  entries = [
    entry(1, { kind: "suggestion", target: "effect/3", chip: "send?", title: "Comment" }),
    entry(2, { kind: "approval", target: "settings/powers", chip: "confirm", title: "Powers" }),
  ];
  host = script({
    status: () => status(),
    inbox_list: ({ filter }) => inboxPage(filter === "open" ? entries : []),
    inbox_mark: ({ id }) => ({
      entry: entries.find((one) => one.id === id) as EntryView,
      step: null,
    }),
    inbox_undo: () => {
      shown = effect();
      return { entry: entries[0] as EntryView, what: "dismissed" };
    },
    effect_show: () => shown,
    effect_send: () => {
      shown = effect({ state: "approved", canSend: false, canDismiss: false });
      return shown;
    },
    effect_dismiss: () => {
      shown = effect({ state: "dismissed", canSend: false, canDismiss: false });
      return { effect: shown, step: 9 };
    },
    power_show: () => ({
      pending: [
        { key: "octo/app.mode", now: "observe", asked: "suggest", widens: true },
        { key: "spend.dailyUsd", now: "10", asked: "25", widens: true },
      ],
      change: "c4a6e",
    }),
    power_confirm: () => ({ pending: [], change: null }),
    repository_list: () => ({ repositories: [], observer: observer() }),
    account_list: () => ({ accounts: [account()], gh: [], keyring: null, budgets: [] }),
    task_list: () => ({ tasks: [] }),
  });
});

async function at(hash: string): Promise<void> {
  router.show(parse(hash));
  render(App);
}
async function type(key: string, how: KeyboardEventInit = {}): Promise<void> {
  await fireEvent.keyDown(document.activeElement ?? document.body, { key, ...how });
}

describe("a suggested effect", () => {
  test("shows exactly what is sent, as text", async () => {
    await at("effect/3");
    const content = await screen.findByTestId("effect-content");
    expect(content.textContent).toContain(
      "<!-- marker -->\n**CHANGES** <img src=x onerror=alert(1)>",
    );
    expect(content.querySelector("img")).toBeNull();
  });

  test("Ctrl+Enter asks once, naming repository, number and commit, and sends on yes", async () => {
    await at("effect/3");
    await screen.findByTestId("effect-send");
    await type("Enter", { ctrlKey: true });
    const asked = (await screen.findByTestId("confirm")).textContent ?? "";
    for (const word of ["octo/app", "#12", "9f31c07", "octo"]) expect(asked).toContain(word);
    expect(host.asked("effect_send")).toEqual([]);
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("effect_send")).toEqual([{ id: 3, hash: "e7a1" }]));
    expect((await screen.findByTestId("toast")).textContent).toContain("cannot be taken back");
    await vi.waitFor(() => expect(screen.queryByTestId("effect-send")).toBeNull());
    expect(screen.getByTestId("effect-state").textContent).toContain("APPROVED");
  });

  test("a push shows its branch, its commits and its patch, and the question names them", async () => {
    shown = effect({
      class: "push_fix",
      title: "Push to steward/pr-12 for octo/app#12",
      content: "",
      facts: [
        { name: "Branch", value: "steward/pr-12" },
        { name: "From", value: "a".repeat(40) },
        { name: "To", value: "b".repeat(40) },
      ],
      line: "the check is red",
      diff: "+++ b/data/x.json\n+<img src=x onerror=alert(1)>\n",
    });
    await at("effect/3");
    const diff = await screen.findByTestId("effect-diff");
    expect(diff.textContent).toContain("+<img src=x onerror=alert(1)>");
    expect(diff.querySelector("img")).toBeNull();
    expect(screen.queryByTestId("effect-content")).toBeNull();
    for (const text of ["steward/pr-12", "a".repeat(40), "b".repeat(40), "the check is red"]) {
      expect(document.body.textContent).toContain(text);
    }
    await fireEvent.click(screen.getByTestId("effect-send"));
    const asked = (await screen.findByTestId("confirm")).textContent ?? "";
    for (const word of ["Push a fix", "steward/pr-12", "b".repeat(40)])
      expect(asked).toContain(word);
  });

  test("a close says its reason and its account, and is sent on yes", async () => {
    shown = effect({
      class: "close_issue",
      title: "Close octo/app#12",
      content: "",
      head: null,
      facts: [{ name: "As", value: "not planned" }],
    });
    await at("effect/3");
    await fireEvent.click(await screen.findByTestId("effect-send"));
    const asked = (await screen.findByTestId("confirm")).textContent ?? "";
    for (const word of ["As not planned", "Account octo"]) {
      expect(asked.replace(/\s+/g, " ")).toContain(word);
    }
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("effect_send")).toEqual([{ id: 3, hash: "e7a1" }]));
  });

  test("a push whose patch cannot be read says so and cannot be sent", async () => {
    shown = effect({
      class: "push_fix",
      content: "",
      diffNote: "what it changes cannot be read: git lacks an object",
      canSend: false,
    });
    await at("effect/3");
    const note = await screen.findByTestId("effect-diff-note");
    expect(note.textContent).toContain("cannot be read");
    expect(screen.queryByTestId("effect-send")).toBeNull();
    expect(screen.queryByTestId("effect-diff")).toBeNull();
  });

  test("a yes is to the text that was shown when it was asked for", async () => {
    await at("effect/3");
    await fireEvent.click(await screen.findByTestId("effect-send"));
    await screen.findByTestId("confirm");
    // A newer review takes the effect's place while the question stands.
    shown = effect({ content: "**ACCEPTED** after all\n", hash: "0ff5" });
    host.say("effect:3");
    await vi.waitFor(() =>
      expect(screen.getByTestId("effect-content").textContent).toContain("after all"),
    );
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("effect_send")).toEqual([{ id: 3, hash: "e7a1" }]));
  });

  test("turning away from the question sends nothing", async () => {
    await at("effect/3");
    await fireEvent.click(await screen.findByTestId("effect-send"));
    await fireEvent.click(await screen.findByTestId("confirm-cancel"));
    expect(host.asked("effect_send")).toEqual([]);
    expect(screen.getByTestId("effect-send")).toBeTruthy();
  });

  test("d dismisses it", async () => {
    await at("effect/3");
    await screen.findByTestId("effect-dismiss");
    await type("d");
    await vi.waitFor(() => expect(host.asked("effect_dismiss")).toEqual([{ id: 3 }]));
    await vi.waitFor(() =>
      expect(screen.getByTestId("effect-state").textContent).toContain("DISMISSED"),
    );
  });

  test("a no is taken back from its toast or with Ctrl+Z, and it waits for a yes again", async () => {
    await at("effect/3");
    for (const times of [1, 2]) {
      await fireEvent.click(await screen.findByTestId("effect-dismiss"));
      await vi.waitFor(() => expect(screen.queryByTestId("effect-dismiss")).toBeNull());
      const undo = await screen.findByTestId("toast-undo");
      if (times === 1) await fireEvent.click(undo);
      else await type("z", { ctrlKey: true });
      expect(await screen.findByTestId("effect-send")).toBeTruthy();
      expect(host.asked("inbox_undo")).toEqual(Array(times).fill({ step: 9 }));
    }
  });

  test("a refusal is said and the card stays", async () => {
    host.answers.effect_send = () => {
      throw new Refusal({ code: "paused", message: "Steward is paused", hint: "resume first" });
    };
    await at("effect/3");
    await fireEvent.click(await screen.findByTestId("effect-send"));
    await fireEvent.click(await screen.findByTestId("confirm-ok"));
    expect((await screen.findByTestId("toast")).textContent).toContain("Steward is paused");
    expect(screen.getByTestId("effect-send")).toBeTruthy();
  });

  test.each([
    ["done", "SENT", "cannot be taken back"],
    ["failed", "NOT SENT", "Nothing more is tried"],
    ["obsolete", "OBSOLETE", "no longer so"],
    ["intended", "BEING SENT", "GitHub is read before"],
  ] as const)("that is %s says what became of it", async (state, word, says) => {
    shown = effect({ state, canSend: false, canDismiss: false });
    await at("effect/3");
    expect((await screen.findByTestId("effect-state")).textContent).toContain(word);
    expect(screen.getByText(new RegExp(says))).toBeTruthy();
    await type("Enter", { ctrlKey: true });
    expect(screen.queryByTestId("confirm")).toBeNull();
  });

  test("Shift+O opens what was sent before what it was about", async () => {
    shown = effect({ state: "done", resultUrl: "https://github.com/octo/app/pull/12#c1" });
    await at("effect/3");
    await screen.findByTestId("effect-open");
    await type("O", { shiftKey: true });
    await vi.waitFor(() => expect(host.opened).toEqual(["https://github.com/octo/app/pull/12#c1"]));
  });
});

describe("the inbox", () => {
  test("walks over effects and powers without leaving its list", async () => {
    await at("inbox");
    await screen.findByTestId("entry-1");
    await type("j");
    await vi.waitFor(() => expect(location.hash).toBe("#/inbox/powers"));
    await type("j");
    await vi.waitFor(() => expect(location.hash).toBe("#/effect/3"));
    expect(screen.getByTestId("entry-2")).toBeTruthy();
  });
});

describe("a power that waits", () => {
  test("is confirmed as exactly the difference that was shown", async () => {
    await at("inbox/powers");
    const table = within(await screen.findByTestId("powers"));
    expect(table.getAllByRole("row")).toHaveLength(3);
    await type("Enter", { ctrlKey: true });
    const asked = (await screen.findByTestId("confirm")).textContent ?? "";
    for (const word of ["octo/app.mode", "observe → suggest", "10 → 25"]) {
      expect(asked).toContain(word);
    }
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("power_confirm")).toEqual([{ change: "c4a6e" }]));
  });

  test("nothing pending looks like nothing, not like an error", async () => {
    host.answers.power_show = () => ({ pending: [], change: null });
    await at("settings/powers");
    expect(await screen.findByText("Nothing waits")).toBeTruthy();
  });
});
