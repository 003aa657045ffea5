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
  title:
    { 126: "[intake] Add the 2026 catalogue", 90: "Add the audiobooks of 2025" }[number] ??
    `#${number}`,
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
  url: `https://github.com/octo/app/pull/${number}`,
  askedAt: null,
  ended: null,
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
    classReason: "an issue in scope",
    decision: "backoff",
    message: "the triager answered nothing that could be read, three times",
    head: null,
    stuck: true,
    attempts: 3,
    nextAttemptAt: before(-60 * 20),
    lastAction: "triage 3: unparseable",
    lastActionAt: before(240),
    url: "https://github.com/octo/app/issues/90",
  }),
  item(99, {
    title: "Ended while its card was open",
    decision: "gone",
    ended: "merged",
    message: "it was merged",
    attempts: 2,
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
  requiredChecks: [],
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
    mode: "suggest",
    readAt: before(2),
    unread: null,
    steps: (found.kind === "issue" ? [] : STEPS).map(([step, state, message]) => ({
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
  proposal: "Each of the last 20 merged heads had these checks, all well:",
  read: 42,
  of: 42,
  ended: null,
};

/** What a run says that was stopped, or cut off by a limit. @param {number} read @param {"stopped" | "limited"} code */
export const cut = (read, code) => ({
  ...shadow,
  rows: shadow.rows.slice(0, read),
  read,
  ended:
    code === "stopped"
      ? { code, message: `stopped: ${read} of 42 merges were read`, hint: null }
      : {
          code,
          message: `GitHub's limit is used up until 14:05; ${read} of 42 merges were read`,
          hint: "wait until then; other programs use the same limit",
        },
});

/** @type {import("../../../ui/src/api/generated/ChecksView").ChecksView} */
export const checks = {
  repository: "octo/app",
  base: "main",
  required: [],
  proposed: ["check", "site", "verify"],
  source: "usual",
  proposal: "Each of the last 20 merged heads had these checks, all well:",
};

/** @param {string[]} lines @param {string[]} now @returns {import("../../../ui/src/api/generated/EditView").EditView} */
export const edit = (lines, now = []) => ({
  path: "~/.config/steward/config.yaml",
  parts: [
    {
      lines: [
        { side: "same", before: 41, after: 41, text: "  - name: octo/app # the app itself" },
        { side: "same", before: 42, after: 42, text: "    preset: code-app" },
        ...now.map((text, i) => ({
          side: /** @type {const} */ ("removed"),
          before: 43 + i,
          after: null,
          text,
        })),
        ...lines.map((text, i) => ({
          side: /** @type {const} */ ("added"),
          before: null,
          after: 43 + i,
          text,
        })),
        {
          side: "same",
          before: 43 + now.length,
          after: 43 + lines.length,
          text: "  - name: octo/docs",
        },
      ],
    },
  ],
  pending: [],
});

/** Entries of the inbox of what wants somebody. @type {import("../../../ui/src/api/generated/EntryView").EntryView[]} */
export const wanting = /** @type {const} */ ([
  ["pr-126", "#126 failed 3 times: check: step “validate” failed", "stuck", 55],
  ["issue-90", "#90 failed 3 times", "stuck", 240],
  ["pr-99", "#99 failed 2 times: it was merged meanwhile", "stuck", 500],
  ["pr-1", "#1 stands still since it is forgotten", "stuck", 900],
]).map(([what, title, chip, age], i) => ({
  id: 900 + i,
  kind: "stuck",
  target: `repository/octo/app?item=${what}`,
  title,
  source: "octo/app",
  chip,
  state: "open",
  read: i > 0,
  saved: false,
  snoozeUntil: null,
  createdAt: before(age),
  updatedAt: before(age),
}));
