import { fireEvent, render, screen, within } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { BoardView } from "../../api/generated/BoardView";
import type { EngineBoardView } from "../../api/generated/EngineBoardView";
import type { ShadowRow } from "../../api/generated/ShadowRow";
import type { ShadowView } from "../../api/generated/ShadowView";
import { Refusal } from "../../host";
import { prefer } from "../../lib/prefs.svelte";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import {
  AT,
  editView,
  inboxPage,
  issue,
  item,
  observer,
  pull,
  repository,
  status,
} from "../../testing/views";
import { itemsOf } from "../repositories/board";
import { canTry, metCount, shadowReasons, shadowSum } from "./items";

function shadowRow(number: number, change: Partial<ShadowRow> = {}): ShadowRow {
  return {
    number,
    title: `Merged ${number}`,
    mergedAt: AT,
    class: "data",
    wouldMerge: true,
    decision: "merge",
    message: "every condition held",
    ...change,
  };
}

function shadowView(change: Partial<ShadowView> = {}): ShadowView {
  return {
    repository: "octo/app",
    rows: [shadowRow(8), shadowRow(7, { wouldMerge: false, class: "code" })],
    proposedChecks: ["check"],
    proposal: "Every merged head had it:",
    read: 2,
    of: 2,
    ended: null,
    ...change,
  };
}

let board: BoardView;
let engine: EngineBoardView;
let host: Script;

beforeEach(() => {
  prefer({ cursor: null, unfolded: [], lastHash: "", firstRunSkipped: [], boardBy: "class" });
  engine = {
    lastTick: AT,
    nextTick: null,
    problem: null,
    noAgent: { code: "no_boundary", message: "no bubblewrap", hint: null },
    hold: { number: 12, until: AT },
    agentRunsToday: 2,
    agentRunsCap: 24,
    requiredChecks: [],
    warnings: ["`compose` was never seen"],
    items: [
      item(12, { decision: "merge", message: "ready" }),
      item(13, { decision: "fix", stuck: true, attempts: 3, evidence: "line \u001b[31m 1" }),
      item(14, { class: "code", decision: "review_code" }),
      item(9, { kind: "issue", class: "issue", decision: "needs_info", message: "asked" }),
    ],
  };
  board = {
    repository: repository("octo/app"),
    pulls: [12, 13, 14, 15].map((number) => pull(number, { task: null })),
    issues: [issue(9)],
    engine,
  };
  host = script({
    status: () => status(),
    inbox_list: () => inboxPage([]),
    repository_list: () => ({ repositories: [repository("octo/app")], observer: observer() }),
    repository_board: () => board,
    item_try: () => item(13),
    item_why: ({ item: name }) => {
      const found = engine.items.find((one) => `octo/app#${one.number}` === name);
      if (!found) throw new Refusal({ code: "not_found", message: "not judged", hint: null });
      return {
        item: found,
        mode: "suggest",
        readAt: AT,
        unread: null,
        steps: [
          {
            step: "open",
            state: "met",
            decision: null,
            message: null,
            notBefore: null,
            evidence: [],
          },
          {
            step: "required_checks",
            state: "unmet",
            decision: "fix",
            message: "check failed",
            notBefore: null,
            evidence: [{ name: "check", value: "failure\u202e", at: AT }],
          },
        ],
      };
    },
    engine_shadow: () => shadowView(),
    engine_shadow_state: () => ({ running: true, read: 17, of: 50 }),
    engine_shadow_stop: () => ({ message: "stopped" }),
    repository_checks: () => ({
      repository: "octo/app",
      base: "main",
      required: [],
      proposed: ["check", "site"],
      source: "usual",
      proposal: "Each of the last 20 merged heads had these checks, all well:",
    }),
    repository_checks_preview: ({ checks }) => editView(`requiredChecks: [${checks.join(", ")}]`),
    repository_checks_set: () => repository("octo/app"),
    config_check: () => ({
      path: "",
      exists: true,
      lastGoodInForce: false,
      problems: [],
      effective: [],
    }),
  });
});

function groups(by: "class" | "move"): string[] {
  return itemsOf(board, "", by).map((one) => {
    if (one.kind === "group") return `${one.id} ${one.total}`;
    return one.kind === "pull" ? `#${one.pull.number}` : `issue ${one.issue.number}`;
  });
}

test("a board the engine follows is grouped by its classes, what is stuck first", () => {
  expect(groups("class")).toEqual([
    "stuck 1",
    "#13",
    "data 1",
    "#12",
    "code 1",
    "#14",
    "unjudged 1",
    "#15",
    "issues 1",
    "issue 9",
  ]);
  expect(groups("move")[0]).toBe("yours 4");
  delete board.engine;
  expect(groups("class")[0]).toBe("yours 4");
});

test("a class nobody knows is not judged rather than lost", () => {
  engine.items[0] = item(12, { class: "new_kind" });
  expect(groups("class").filter((one) => one.startsWith("unjudged"))).toEqual(["unjudged 2"]);
});

test("the board says what it decided, what holds it, and why no agent starts", async () => {
  router.show(parse("repository/octo/app"));
  render(App);
  expect((await screen.findByTestId("decision-12")).textContent).toContain("READY");
  expect(screen.getByTestId("decision-13").textContent).toContain("STUCK");
  expect(screen.getByTestId("decision-9").textContent).toContain("ASKED");
  const note = screen.getByTestId("engine-note");
  for (const words of ["agents 2 of 24 today", "task of #12", "no bubblewrap", "never seen"]) {
    expect(note.textContent?.replace(/\s+/g, " ")).toContain(words);
  }
  const choice = within(note).getByText("By whose move");
  await fireEvent.click(choice);
  expect(choice.getAttribute("aria-checked")).toBe("true");
  expect(screen.queryByTestId("decision-12")).toBeNull();
});

test("with the engine off nothing of it is there", async () => {
  delete board.engine;
  router.show(parse("repository/octo/app"));
  render(App);
  await screen.findByTestId("pull-12");
  expect(screen.queryByTestId("engine-note")).toBeNull();
});

test("a pull shows each condition with its evidence, and what is stuck can be tried now", async () => {
  router.show(parse("repository/octo/app/pull/13"));
  render(App);
  const row = await screen.findByTestId("step-required_checks");
  expect(row.dataset["state"]).toBe("unmet");
  expect(screen.queryByTestId("step-open")).toBeNull();
  await fireEvent.click(screen.getByTestId("steps-fold"));
  expect(screen.getByTestId("step-open").dataset["state"]).toBe("met");
  expect(document.getElementById("step-evidence-required_checks")).toBeNull();
  await fireEvent.click(within(row).getByRole("button"));
  expect(document.getElementById("step-evidence-required_checks")?.textContent).toContain("U+202E");
  expect(screen.getByTestId("item-evidence").textContent).not.toContain("\u001b");
  await fireEvent.click(screen.getByTestId("try-now"));
  await fireEvent.click(await screen.findByTestId("confirm-ok"));
  await vi.waitFor(() => expect(host.asked("item_try")).toEqual([{ item: "octo/app#13" }]));
});

test("a stuck issue stands among what is stuck, and opens its card", async () => {
  engine.items[3] = item(9, { kind: "issue", class: "issue", stuck: true });
  expect(groups("class").slice(0, 3)).toEqual(["stuck 2", "#13", "issue 9"]);
  router.show(parse("repository/octo/app"));
  render(App);
  await fireEvent.click(await screen.findByTestId("issue-9"));
  await screen.findByTestId("item-card");
  expect(location.hash).toBe("#/inbox/item/octo/app/issue-9");
});

test("what was not judged yet says so, and nothing is tried", async () => {
  router.show(parse("repository/octo/app/pull/15"));
  render(App);
  await screen.findByText("Not judged yet");
  expect(screen.queryByTestId("try-now")).toBeNull();
});

test("the shadow run counts and lists what would have merged", async () => {
  router.show(parse("repository/octo/app"));
  render(App);
  await fireEvent.click(await screen.findByTestId("shadow-run"));
  expect((await screen.findByTestId("shadow-sum")).textContent).toContain("1 of the last 2");
  expect(screen.getByTestId("shadow-7").textContent).toContain("Merged 7");
  await fireEvent.click(screen.getByText("Close"));
  expect(screen.queryByTestId("shadow-sum")).toBeNull();
});

test("a shadow run under way says how far it is, and is stopped with what it has", async () => {
  let answer: (view: ShadowView) => void = () => {};
  // A promise is what the port gives anyway; the script's answers are plain values elsewhere.
  const later = new Promise<ShadowView>((done) => {
    answer = done;
  });
  host.answers.engine_shadow = () => later as unknown as ShadowView;
  router.show(parse("repository/octo/app"));
  render(App);
  await fireEvent.click(await screen.findByTestId("shadow-run"));
  expect(screen.getByTestId("shadow-progress").textContent).toContain("which checks are usual");
  host.say("shadow:octo/other");
  host.say("shadow:octo/app");
  await vi.waitFor(() =>
    expect(screen.getByTestId("shadow-progress").textContent).toContain("17 of 50 merges read"),
  );
  expect(host.asked("engine_shadow_state")).toEqual([{ name: "octo/app" }]);
  await fireEvent.click(screen.getByTestId("shadow-stop"));
  expect(host.asked("engine_shadow_stop")).toEqual([{ name: "octo/app" }]);
  answer(
    shadowView({ read: 17, of: 50, ended: { code: "stopped", message: "stopped", hint: null } }),
  );
  expect((await screen.findByTestId("shadow-ended")).textContent).toContain("17 of 50 merges read");
  expect(screen.getByTestId("shadow-sum").textContent).toContain("1 of the last 2");
  await fireEvent.click(screen.getByTestId("shadow-again"));
  expect(host.asked("engine_shadow")).toHaveLength(2);
});

test("a limit on the way is told with what to do, and closing stops what is under way", async () => {
  host.answers.engine_shadow = () =>
    shadowView({
      ended: { code: "rate_limited", message: "the limit is used up", hint: "wait until 14:05" },
    });
  router.show(parse("repository/octo/app"));
  render(App);
  await fireEvent.click(await screen.findByTestId("shadow-run"));
  expect((await screen.findByTestId("shadow-ended")).textContent).toContain("wait until 14:05");
  expect(screen.getByTestId("shadow-7")).toBeTruthy();
  host.answers.engine_shadow = () => new Promise(() => {}) as unknown as ShadowView;
  await fireEvent.click(screen.getByTestId("shadow-again"));
  await screen.findByTestId("shadow-progress");
  await fireEvent(screen.getByTestId("shadow-dialog"), new Event("cancel", { cancelable: true }));
  await vi.waitFor(() => expect(host.asked("engine_shadow_stop")).toHaveLength(1));
});

test("a board without required checks offers the proposal, and writes what was chosen", async () => {
  router.show(parse("repository/octo/app"));
  render(App);
  await fireEvent.click(await screen.findByTestId("choose-checks"));
  const site = (await screen.findByTestId("check-site")) as HTMLInputElement;
  expect(site.checked).toBe(true);
  expect(screen.getByTestId("checks-source").textContent).toContain("last 20 merged heads");
  await fireEvent.click(site);
  await fireEvent.input(screen.getByTestId("check-name"), { target: { value: " lint " } });
  await fireEvent.click(screen.getByTestId("check-add"));
  await vi.waitFor(() =>
    expect(screen.getByTestId("edit-diff").textContent).toContain("requiredChecks: [check, lint]"),
  );
  await fireEvent.click(screen.getByTestId("checks-save"));
  await vi.waitFor(() =>
    expect(host.asked("repository_checks_set")).toEqual([
      { name: "octo/app", checks: ["check", "lint"] },
    ]),
  );
  await vi.waitFor(() => expect(screen.queryByTestId("checks-dialog")).toBeNull());
});

test("where checks are required nothing is offered, and what cannot be read says so", async () => {
  engine.requiredChecks = ["check"];
  host.answers.repository_checks = () => {
    throw new Refusal({ code: "signed_out", message: "signed out", hint: "sign in" });
  };
  router.show(parse("repository/octo/app"));
  render(App);
  await fireEvent.click(await screen.findByTestId("shadow-run"));
  expect(screen.queryByTestId("choose-checks")).toBeNull();
  await fireEvent.click(await screen.findByTestId("shadow-checks"));
  await screen.findByText("Which checks are usual could not be read");
  await fireEvent.click(screen.getByTestId("checks-skip"));
  expect(screen.queryByTestId("checks-dialog")).toBeNull();
});

test("small judgements", () => {
  expect(canTry(item(1))).toBe(false);
  expect(canTry(item(1, { nextAttemptAt: AT }))).toBe(true);
  expect(canTry(item(1, { stuck: true, ended: "merged" }))).toBe(false);
  expect(metCount([])).toBe("");
  expect(shadowSum([])).toContain("Nothing was merged");
  expect(shadowSum([], true)).toBe("Nothing was judged.");
  const rows = [
    shadowRow(1),
    shadowRow(2, { wouldMerge: false, class: "code" }),
    shadowRow(3, { wouldMerge: false, decision: "wait" }),
    shadowRow(4, { wouldMerge: false, class: "code" }),
  ];
  expect(shadowReasons(rows)).toEqual([
    { word: "code", count: 2 },
    { word: "wait", count: 1 },
  ]);
});
