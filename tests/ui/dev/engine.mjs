// FOR DRAWING ONLY: what the engine of dev/server.mjs says of its board, held to the types.

const START = Date.now();
/** @param {number} minutes */
const before = (minutes) => new Date(START - minutes * 60_000).toISOString();
const HEAD = "9f31c07a5d4e3b2c1f0e9d8c7b6a594837261504";

/** @typedef {import("../../../ui/src/api/generated/ItemView").ItemView} ItemView */
/** @param {number} number @param {Partial<ItemView>} change @returns {ItemView} */
const item = (number, change) => ({
  repository: "octo/app",
  kind: "pull",
  number,
  title: `#${number}`,
  class: "data",
  classReason: "data, 3 entries",
  decision: "wait",
  message: "the head must be there unchanged for 120 s",
  head: HEAD,
  judgedAt: before(2),
  lastAction: null,
  lastActionAt: null,
  attempts: 0,
  nextAttemptAt: null,
  stuck: false,
  evidence: null,
  ...change,
});

/** @type {ItemView[]} */
export const items = [
  item(128, { decision: "merge", message: "every condition holds at 9f31c07" }),
  item(130, {
    class: "foreign",
    classReason: "its head is in another repository",
    decision: "list_only",
    message: "listed only: its head is in another repository",
  }),
  item(126, {
    decision: "fix",
    stuck: true,
    attempts: 3,
    nextAttemptAt: before(-60 * 9),
    message: "check is red after its re-run; an agent tries again",
    lastAction: "agent attempt 3: refused by the validator",
    lastActionAt: before(55),
    evidence:
      "check: step “validate” failed\ndata/works/dune.json:14: error: `sources` must not be empty\n\u001b[31mvalidation failed\u001b[0m",
  }),
  item(125, {
    class: "code",
    classReason: "Cargo.lock is outside the safe paths",
    decision: "list_only",
    message: "reviewed at this head; a person decides",
  }),
  item(121, { message: "changes requested by ann", class: "data" }),
  item(119, {
    decision: "rebase",
    message: "2 commits behind its base; nobody else moves it",
    lastAction: "rebase wanted",
    lastActionAt: before(3),
  }),
  item(131, { message: "running: verify" }),
  item(110, {
    class: "draft",
    classReason: "a draft",
    decision: "ignore",
    message: "left alone: a draft",
  }),
  item(90, {
    kind: "issue",
    class: "issue",
    decision: "needs_info",
    message: "asked; waits for an answer",
  }),
];

/** @type {import("../../../ui/src/api/generated/EngineBoardView").EngineBoardView} */
export const engine = {
  lastTick: before(2),
  nextTick: before(-8),
  problem: null,
  noAgent: {
    code: "no_boundary",
    message: "bubblewrap is not installed",
    hint: "install it; `steward doctor` shows what else is missing",
  },
  hold: { number: 119, until: before(-27) },
  agentRunsToday: 7,
  agentRunsCap: 24,
  warnings: ["the required check “compose” was not seen on any head for 7 hours"],
  items,
};

/** @type {[string, import("../../../ui/src/api/generated/StepState").StepState, string | null][]} */
const STEPS = [
  ["open", "met", null],
  ["class", "met", null],
  ["policy", "met", null],
  ["whole", "met", null],
  ["stable", "met", null],
  ["required_checks", "unmet", "check failed after its re-run"],
  ["verdict_given", "met", null],
  ["unflagged", "met", null],
  ["up_to_date", "unmet", "2 commits behind its base; the sweep moves it"],
  ["nothing_pending", "met", null],
  ["other_checks", "met", null],
  ["people", "unmet", "changes requested by ann\u202e"],
  ["seat", "met", null],
  ["label_bound", "not_judged", null],
  ["not_held", "met", null],
];

/** @param {number} number @returns {import("../../../ui/src/api/generated/WhyView").WhyView | null} */
export function why(number) {
  const found = items.find((one) => one.number === number);
  if (!found) return null;
  return {
    item: found,
    readAt: before(2),
    steps: STEPS.map(([step, state, message]) => ({
      step,
      state,
      decision: message && "wait",
      message,
      notBefore: step === "up_to_date" ? before(-20) : null,
      evidence: message
        ? [
            { name: "check", value: "failure (github-actions)", at: before(30) },
            { name: "commits behind", value: "2", at: before(2) },
          ]
        : [],
    })),
  };
}

/** @type {import("../../../ui/src/api/generated/ShadowView").ShadowView} */
export const shadow = {
  repository: "octo/app",
  rows: Array.from({ length: 42 }, (_, i) => {
    const not = i % 5 === 2 || i % 7 === 3;
    return {
      number: 109 - i,
      title: `Add the works of volume ${42 - i}`,
      mergedAt: before(60 * 9 * (i + 1)),
      class: not && i % 2 === 0 ? "code" : "data",
      wouldMerge: !not,
      decision: not ? (i % 2 === 0 ? "list_only" : "wait") : "merge",
      message: not
        ? i % 2 === 0
          ? "tools/build.sh is outside the safe paths"
          : "site had not ended"
        : "every condition held",
    };
  }),
  proposedChecks: ["check", "site", "verify"],
  proposal: "Of the last 20 merged heads each had these:",
};
