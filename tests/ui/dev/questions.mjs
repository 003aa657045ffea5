// FOR DRAWING ONLY: questions and the roster, held to the generated types.

/**
 * @typedef {import("../../../ui/src/api/generated/NeedView").NeedView} NeedView
 * @typedef {import("../../../ui/src/api/generated/NeedAnswerView").NeedAnswerView} NeedAnswerView
 * @typedef {import("../../../ui/src/api/generated/MemberView").MemberView} MemberView
 * @typedef {import("../../../ui/src/api/generated/EntryView").EntryView} EntryView
 */

const START = Date.now();
/** @param {number} minutes */
const before = (minutes) => new Date(START - minutes * 60_000).toISOString();
const NOTHING = {
  answer: false,
  press: false,
  whyNotAllow: null,
  drop: false,
  takeBack: false,
  typeAnswer: false,
  why: null,
};

/** @param {number} id @param {Partial<NeedView>} change @returns {NeedView} */
const need = (id, change) => ({
  id,
  agent: "coordinator",
  host: "studio",
  project: "app",
  topic: "storage",
  question: "WAL or rollback journal?",
  options: [],
  origin: "cli",
  judged: false,
  state: "open",
  text: "waits for you",
  version: 1,
  line: "",
  prompt: null,
  advice: null,
  answer: null,
  may: { ...NOTHING, answer: true, drop: true },
  pane: "%12",
  entry: id + 500,
  askedAt: before(14),
  closedAt: null,
  ...change,
});
/** @param {Partial<NeedAnswerView>} change @returns {NeedAnswerView} */
const answer = (change) => ({
  id: 1,
  words: "B, but keep the old files",
  way: "type",
  stage: "acknowledged",
  text: "sent, and seen taken",
  why: null,
  answeredAt: before(3),
  updatedAt: before(2),
  ...change,
});
/** @param {string} letter @param {string} text */
const option = (letter, text) => ({ letter, text, answer: `${letter}) ${text}` });

/** @type {NeedView[]} */
export const needs = [
  need(2, {
    agent: "docs",
    host: "laptop",
    project: "site",
    topic: "config",
    question:
      "Keep the 0.9 config keys?\nThree users still write them, see #88 and docs/config.md.\n<b>They</b> warn at every start\u202e.",
    options: [
      option("A", "keep them for another release, and warn"),
      option("B", "drop them now"),
      option("C", "keep them for ever"),
    ],
    origin: "thrum",
    version: 2,
    askedAt: before(61),
  }),
  need(3, { options: [option("A", "WAL"), option("B", "rollback")] }),
  need(4, {
    agent: "worker-3",
    project: "app",
    topic: "permission",
    question: "Bash command\nrm -rf target/ui && npm run build",
    origin: "pane",
    judged: true,
    pane: "%31",
    prompt: {
      title: "Bash command: do you want to proceed?",
      subject: "rm -rf target/ui && npm run build\nRemove the built pages and build them again",
      choices: ["Yes", "Yes, and don't ask again for npm commands", "No, and tell it what to do"],
    },
    may: { ...NOTHING, press: true, drop: true },
    askedAt: before(9),
  }),
  need(5, {
    agent: "planner",
    topic: "menu",
    question: "Which model?",
    origin: "pane",
    judged: true,
    pane: "%32",
    options: [option("A", "Small"), option("B", "Large")],
    prompt: { title: "Select a model", subject: "", choices: ["Small", "Large"] },
    may: { ...NOTHING, drop: true, why: "a prompt is open in its pane: choose there" },
    askedAt: before(4),
  }),
  need(6, {
    agent: "brain",
    topic: "names",
    question: "Shall the crate be called hopper?",
    origin: "hook",
    pane: "%3",
    answer: answer({
      stage: "returned",
      text: "not delivered",
      why: "the pane runs zsh now, not claude",
    }),
    askedAt: before(42),
  }),
  need(7, {
    state: "answered",
    text: "answered",
    topic: "release",
    question: "Tag 0.9.1 today?",
    may: { ...NOTHING, takeBack: true, typeAnswer: true },
    answer: answer({
      way: "fetch",
      stage: "queued",
      text: "the asker has not fetched it yet",
      words: "Yes, after CI.",
    }),
    closedAt: before(3),
    askedAt: before(80),
  }),
  need(8, {
    state: "answered",
    text: "answered",
    topic: "layout",
    question: "Two panes or three?",
    origin: "hook",
    may: { ...NOTHING, takeBack: true },
    answer: answer({
      stage: "queued",
      text: "held",
      why: "somebody's draft stands in the composer",
    }),
    closedAt: before(3),
    askedAt: before(90),
  }),
  need(9, {
    state: "answered",
    text: "answered",
    topic: "cache",
    question: "Key the cache by id?",
    origin: "hook",
    may: NOTHING,
    answer: answer({}),
    closedAt: before(3),
    askedAt: before(120),
  }),
  need(10, {
    state: "withdrawn",
    text: "taken back by its asker",
    topic: "ci",
    question: "Re-run the flaky job?",
    may: NOTHING,
    closedAt: before(50),
    askedAt: before(130),
  }),
];

/** @param {string} agent @param {Partial<MemberView>} change @returns {MemberView} */
const member = (agent, change) => ({
  agent,
  host: "studio",
  project: "app",
  pane: "%12",
  adapter: "claude",
  state: "working",
  detail: "",
  flagged: null,
  absent: null,
  reach: "local",
  since: before(12),
  capturedAt: before(1),
  needs: [],
  briefed: false,
  ...change,
});
export const roster = {
  members: [
    member("coordinator", { state: "waiting", detail: "", needs: [3], briefed: true }),
    member("worker-1", { pane: "%29" }),
    member("worker-2", { pane: "%30", state: "idle" }),
    member("worker-3", {
      pane: "%31",
      state: "waiting",
      detail: "Bash command: do you want to proceed?",
      needs: [4],
    }),
    member("worker-4", { pane: "%35", state: "error", detail: "a usage limit" }),
    member("brain", {
      host: "build",
      project: "ideas",
      pane: "%3",
      reach: "ssh",
      state: "unwatchable",
      detail: "ssh: connect to host build port 22: Connection refused",
      flagged: "FLAGGED: CAPTURE FAILED: ssh: connect to host build port 22: Connection refused",
      needs: [6],
    }),
    member("docs", {
      host: "laptop",
      project: "site",
      pane: null,
      reach: "messages",
      state: "unknown",
      detail: "no pane is named; its questions come as messages",
      capturedAt: null,
      needs: [2],
    }),
    member("night", {
      pane: "%40",
      state: "unwatchable",
      detail: "there is no pane %40",
      absent: "sleeping",
      capturedAt: before(700),
    }),
  ],
  watcher: { state: "ready", text: "the watcher seat judges what facts do not settle" },
  tick: "8 members: 2 waiting, 1 working, 1 idle, 1 error, 2 unwatchable, 1 unknown (2 capture-failed)",
  tickAt: before(1),
  resolutionFail: false,
  faults: [],
  keys: true,
  owner: "leon",
};

export const capture = {
  agent: "worker-3",
  at: before(0),
  lines: [
    "● I will build the pages again.",
    "",
    "  Bash(rm -rf target/ui && npm run build)",
    "  ⎿ Running…",
    "",
    "╭──────────────────────────────────────────────────────────────╮",
    "│ Bash command                                                 │",
    "│   rm -rf target/ui && npm run build                          │",
    "│ Do you want to proceed?                                      │",
    "│ ❯ 1. Yes                                                     │",
    "│   2. Yes, and don't ask again for npm commands               │",
    "│   3. No, and tell it what to do                              │",
    "╰──────────────────────────────────────────────────────────────╯",
  ],
};

/** @param {NeedView} one @param {string} chip @returns {EntryView} */
const entry = (one, chip) => ({
  id: one.id + 500,
  kind: "question",
  target: `question/${one.id}`,
  title: one.prompt?.title ?? one.question.split("\n")[0] ?? "",
  source: `${one.judged ? "[pane-judged] " : ""}${one.project} · ${one.agent}@${one.host} · ${one.topic}`,
  chip,
  state: one.state === "open" ? "open" : "done",
  read: one.id % 2 === 0,
  saved: false,
  snoozeUntil: null,
  createdAt: one.askedAt,
  updatedAt: one.askedAt,
});
/** @type {EntryView[]} */
export const asked = [
  ...needs
    .filter((one) => one.state === "open")
    .map((one) =>
      entry(one, one.answer ? "UNDELIVERED" : one.prompt ? "PROMPT" : one.judged ? "PANE" : "NEED"),
    ),
  {
    id: 590,
    kind: "incident",
    target: "roster/brain@build",
    title: "brain cannot be watched",
    source: roster.members[5]?.flagged ?? "",
    chip: "UNWATCHABLE",
    state: "open",
    read: false,
    saved: false,
    snoozeUntil: null,
    createdAt: before(8),
    updatedAt: before(8),
  },
];
