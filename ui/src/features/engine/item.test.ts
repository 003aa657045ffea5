import { fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { EntryView } from "../../api/generated/EntryView";
import type { ItemView } from "../../api/generated/ItemView";
import type { WhyView } from "../../api/generated/WhyView";
import { Refusal } from "../../host";
import { prefer } from "../../lib/prefs.svelte";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import { AT, inboxPage, item, status } from "../../testing/views";

const TARGET = "repository/octo/app?item=pr-13";
const entry: EntryView = {
  id: 1,
  kind: "stuck",
  target: TARGET,
  title: "#13 failed 3 times",
  source: "octo/app",
  chip: "stuck",
  state: "open",
  read: true,
  saved: false,
  snoozeUntil: null,
  createdAt: AT,
  updatedAt: AT,
};

let shown: ItemView;
let steps: WhyView["steps"];
let mode: string;
let host: Script;

beforeEach(() => {
  prefer({ cursor: null, unfolded: [], lastHash: "", firstRunSkipped: [] });
  shown = item(13, {
    stuck: true,
    attempts: 3,
    decision: "fix",
    lastAction: "agent attempt 3: refused",
    lastActionAt: AT,
    nextAttemptAt: AT,
    evidence: "error \u001b[31m<b>",
  });
  mode = "suggest";
  steps = [
    {
      step: "required_checks",
      state: "unmet",
      decision: "fix",
      message: "check failed",
      notBefore: null,
      evidence: [],
    },
  ];
  host = script({
    status: () => status(),
    inbox_list: ({ filter }) => inboxPage(filter === "open" ? [entry] : []),
    inbox_mark: () => ({ entry: { ...entry, state: "done" }, step: 1 }),
    item_why: () => ({ item: shown, mode, readAt: AT, unread: null, steps }),
    item_try: () => {
      shown = { ...shown, askedAt: AT };
      return shown;
    },
    item_try_undo: () => {
      shown = { ...shown, askedAt: null };
      return shown;
    },
    config_check: () => ({
      path: "",
      exists: true,
      lastGoodInForce: false,
      problems: [],
      effective: [],
    }),
  });
});

async function open(target = TARGET): Promise<HTMLElement> {
  router.show(parse(target));
  render(App);
  return screen.findByTestId("item-card");
}

test("a stuck entry opens its own card: attempts, evidence, next attempt, and why", async () => {
  router.show(parse("inbox"));
  render(App);
  await fireEvent.click(await screen.findByTestId("entry-1"));
  const card = await screen.findByTestId("item-card");
  expect(screen.getByTestId("item-state").textContent).toContain("STUCK");
  for (const words of ["3 attempts spent", "agent attempt 3: refused", "Next attempt"]) {
    expect(card.textContent?.replace(/\s+/g, " ")).toContain(words);
  }
  const evidence = screen.getByTestId("item-evidence");
  expect(evidence.textContent).toContain("U+001B");
  expect(evidence.querySelector("b")).toBeNull();
  expect(screen.getByTestId("item-why").getAttribute("href")).toBe("#/repository/octo/app/pull/13");
  expect(location.hash).toBe("#/inbox/item/octo/app/pr-13");
});

test("trying says what may go out, shows at once, and is taken back", async () => {
  await open();
  await fireEvent.click(screen.getByTestId("try-now"));
  const asked = await screen.findByTestId("confirm");
  expect(asked.textContent).toContain("waits in your inbox");
  await fireEvent.click(screen.getByTestId("confirm-cancel"));
  expect(host.asked("item_try")).toEqual([]);
  await fireEvent.keyDown(document.body, { key: "t" });
  await fireEvent.click(await screen.findByTestId("confirm-ok"));
  await screen.findByTestId("try-asked");
  expect((screen.getByTestId("try-now") as HTMLButtonElement).disabled).toBe(true);
  expect(host.asked("item_try")).toEqual([{ item: "octo/app#13" }]);
  await fireEvent.click(await screen.findByTestId("try-take-back"));
  await vi.waitFor(() => expect(screen.queryByTestId("try-asked")).toBeNull());
  expect(host.asked("item_try_undo")).toEqual([{ item: "octo/app#13" }]);
});

test("what was asked for stays in sight until the core has answered anew", async () => {
  mode = "observe";
  let answer: (why: WhyView) => void = () => {};
  await open();
  const old = shown;
  host.answers.item_try = () => old;
  const later = new Promise<WhyView>((done) => {
    answer = done;
  });
  host.answers.item_why = () => later as unknown as WhyView;
  await fireEvent.click(screen.getByTestId("try-now"));
  await screen.findByTestId("try-asked");
  await vi.waitFor(() => expect(host.asked("item_why").length).toBeGreaterThan(1));
  expect(screen.queryByTestId("try-asked")).not.toBeNull();
  answer({ item: { ...old, askedAt: null }, mode, readAt: AT, unread: null, steps });
  await vi.waitFor(() => expect(screen.queryByTestId("try-asked")).toBeNull());
});

test("in observe a try asks nothing, since nothing leaves the machine; a refusal flips it back", async () => {
  mode = "observe";
  host.answers.item_try = () => {
    throw new Refusal({ code: "refused", message: "the engine is off", hint: null });
  };
  await open();
  await fireEvent.click(screen.getByTestId("try-now"));
  expect(await screen.findAllByText(/Not tried: the engine is off/)).not.toHaveLength(0);
  await vi.waitFor(() => expect(screen.queryByTestId("try-asked")).toBeNull());
  expect((screen.getByTestId("try-now") as HTMLButtonElement).disabled).toBe(false);
});

test("what a tick took up is not taken back, and says so", async () => {
  shown = { ...shown, askedAt: AT };
  host.answers.item_try_undo = () => {
    throw new Refusal({ code: "refused", message: "octo/app#13 was taken up", hint: null });
  };
  await open();
  await fireEvent.click(await screen.findByTestId("try-take-back"));
  expect(await screen.findAllByText(/Not taken back: octo\/app#13/)).not.toHaveLength(0);
});

test("an issue has no gate, one without evidence says so, and one that ended is tried no more", async () => {
  shown = item(9, { kind: "issue", class: "issue", stuck: true });
  steps = [];
  await open("repository/octo/app?item=issue-9");
  await screen.findByTestId("item-no-evidence");
  expect(screen.queryByTestId("item-why")).toBeNull();
  expect(screen.getByTestId("item-open").textContent).toContain("Open issue");
  shown = { ...shown, ended: "closed" };
  host.say("engine");
  await vi.waitFor(() => expect(screen.getByTestId("item-state").textContent).toContain("CLOSED"));
  expect(screen.queryByTestId("try-now")).toBeNull();
});

test("what is old says so, and what is gone or cannot be read is told apart", async () => {
  const card = await open();
  host.answers.item_why = () => {
    throw new Refusal({ code: "store", message: "the disk is full", hint: null });
  };
  host.say("engine");
  await screen.findByText(/Shown as of/);
  expect(card.isConnected).toBe(true);
  router.show(parse("repository/octo/app?item=pr-14"));
  await screen.findByText("octo/app#14 cannot be shown");
  host.answers.item_why = () => {
    throw new Refusal({ code: "not_found", message: "not followed", hint: null });
  };
  router.show(parse("repository/octo/app?item=pr-15"));
  await screen.findByText("octo/app#15 is not followed any more");
});

test("done takes the entry away as every other entry", async () => {
  await open();
  await fireEvent.click(screen.getByTestId("item-done"));
  expect(host.asked("inbox_mark")).toEqual([{ id: 1, action: { action: "done" } }]);
});
