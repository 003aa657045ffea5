import { fireEvent, render, screen, within } from "@testing-library/svelte";
import { beforeEach, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { BoardView } from "../../api/generated/BoardView";
import type { EngineBoardView } from "../../api/generated/EngineBoardView";
import type { ItemView } from "../../api/generated/ItemView";
import type { ShadowRow } from "../../api/generated/ShadowRow";
import { Refusal } from "../../host";
import { prefer } from "../../lib/prefs.svelte";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import { AT, issue, observer, pull, repository, SHA, status } from "../../testing/views";
import { itemsOf } from "../repositories/board";
import { canTry, metCount, shadowReasons, shadowSum } from "./items";

function item(number: number, change: Partial<ItemView> = {}): ItemView {
  return {
    repository: "octo/app",
    kind: "pull",
    number,
    title: `Pull ${number}`,
    class: "data",
    classReason: "data",
    decision: "wait",
    message: `waits for ${number}`,
    head: SHA,
    judgedAt: AT,
    lastAction: null,
    lastActionAt: null,
    attempts: 0,
    nextAttemptAt: null,
    stuck: false,
    evidence: null,
    ...change,
  };
}

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
    inbox_list: () => ({ entries: [], total: 0, unread: 0, more: false }),
    repository_list: () => ({ repositories: [repository("octo/app")], observer: observer() }),
    repository_board: () => board,
    item_try: () => item(13),
    item_why: ({ item: name }) => {
      const found = engine.items.find((one) => `octo/app#${one.number}` === name);
      if (!found) throw new Refusal({ code: "not_found", message: "not judged", hint: null });
      return {
        item: found,
        readAt: AT,
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
    engine_shadow: () => ({
      repository: "octo/app",
      rows: [shadowRow(8), shadowRow(7, { wouldMerge: false, class: "code" })],
      proposedChecks: ["check"],
      proposal: "Every merged head had it:",
    }),
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
  await vi.waitFor(() => expect(host.asked("item_try")).toEqual([{ item: "octo/app#13" }]));
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

test("small judgements", () => {
  expect(canTry(item(1))).toBe(false);
  expect(canTry(item(1, { nextAttemptAt: AT }))).toBe(true);
  expect(metCount([])).toBe("");
  expect(shadowSum([])).toContain("Nothing");
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
