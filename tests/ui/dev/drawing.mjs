// FOR DRAWING ONLY: the views of dev/server.mjs, held to the generated types.

import { observer } from "./github.mjs";

/**
 * @typedef {import("../../../ui/src/api/generated/ReviewView").ReviewView} ReviewView
 * @typedef {import("../../../ui/src/api/generated/ReviewRow").ReviewRow} ReviewRow
 * @typedef {import("../../../ui/src/api/generated/EntryView").EntryView} EntryView
 * @typedef {import("../../../ui/src/api/generated/TaskDetail").TaskDetail} TaskDetail
 * @typedef {import("../../../ui/src/api/generated/GateView").GateView} GateView
 * @typedef {import("../../../ui/src/api/generated/GateId").GateId} GateId
 */

const START = Date.now();
/** @param {number} minutes */
const before = (minutes) => new Date(START - minutes * 60_000).toISOString();
/** @param {string} seed */
const sha = (seed) => `${seed}5c0ffee9a1b2c3d4e5f60718293a4b5c6d7e8f9012345678`.slice(0, 40);

/** @type {import("../../../ui/src/api/generated/Status").Status} */
export const status = {
  version: "0.1.0",
  state: "running",
  reasons: [],
  holder: { kind: "desktop", pid: 4242, since: before(60) },
  isHolder: true,
  lastTick: before(0.66),
  paused: null,
  reviewEnabled: true,
  openReviews: 2,
  engineTasks: 0,
  heldReviews: 1,
  breakerOpen: false,
  inboxOpen: 6,
  inboxUnread: 3,
  tasks: 5,
  spend: {
    todayUsd: 2.14,
    monthUsd: 31.5,
    dailyCapUsd: 10,
    monthlyCapUsd: 100,
    unknownToday: 0,
    tokensToday: 812_000,
    exhausted: false,
  },
  observer,
  now: before(0),
};

/** @type {GateView[]} */
const gates = [
  {
    id: "ci",
    state: "pass",
    detail: "6 checks at 9f31c07, newest attempt each",
    evidence: {
      items: [
        {
          kind: "check",
          name: "test (ubuntu)",
          app: "github-actions",
          id: 99120,
          attempt: 2,
          conclusion: "success",
          url: "https://github.com/o/r/runs/99120",
        },
      ],
    },
  },
  {
    id: "validator",
    state: "notApplicable",
    detail: "task has no contract",
    evidence: { items: [] },
  },
  {
    id: "frames_fresh",
    state: "pass",
    detail: "4 frames at the head",
    evidence: { items: [{ kind: "frame", id: 3, note: "1280 light" }] },
  },
  { id: "no_binaries", state: "pass", detail: "no binary among 18 files", evidence: { items: [] } },
  {
    id: "no_churn",
    state: "fail",
    detail: "ui/package-lock.json changed without ui/package.json",
    evidence: {
      items: [
        { kind: "file", path: "ui/package-lock.json", line: null, note: "412 lines changed" },
        { kind: "commit", sha: sha("77ab210"), note: "chore: install" },
      ],
    },
  },
  {
    id: "no_secrets",
    state: "pass",
    detail: "412 added lines in 3 commits, 0 hits",
    evidence: { items: [{ kind: "fact", name: "lines", value: "412" }] },
  },
  {
    id: "not_stacked",
    state: "pass",
    detail: "targets main, no commit of another open PR",
    evidence: { items: [{ kind: "commit", sha: sha("aa10"), note: "fork point" }] },
  },
  {
    id: "pr_hygiene",
    state: "fail",
    detail: "body has no “not done / not verified” section",
    evidence: { items: [{ kind: "pull", number: 128, note: "Fix ETag cache" }] },
  },
  { id: "scope", state: "notApplicable", detail: "task has no contract", evidence: { items: [] } },
  {
    id: "mutations_committed",
    state: "notApplicable",
    detail: "task has no contract",
    evidence: { items: [] },
  },
  { id: "peer_claims", state: "pass", detail: "1 handoff, claims agree", evidence: { items: [] } },
];

/** @type {ReviewView} */
const changes = {
  id: 7,
  task: 42,
  title: "Fix ETag cache on renamed repositories",
  workspace: "app",
  repository: "octo/app",
  branch: "fix/etag-rename",
  pull: 128,
  pullUrl: "https://github.com/octo/app/pull/128",
  sha: sha("9f31c07"),
  base: { branch: "main", tip: sha("aa10"), mergeBase: sha("aa10") },
  state: "published",
  trigger: "manual",
  verdict: "CHANGES",
  seatVerdict: "ACCEPTED",
  cap: "CHANGES",
  loweredBy: ["pr_hygiene", "no_churn"],
  loweredBecause: [],
  reason: null,
  reasonDetail: null,
  stale: false,
  staleReason: null,
  staleText: null,
  summary:
    "The cache key now carries the repository id, so a rename keeps its entries, and the tests cover both redirect codes. The migration drops rows without saying so, and one error path keeps a stale body.",
  gates,
  gatesAt: before(3),
  findings: [
    {
      id: "f1",
      origin: "seat",
      title: "Rows vanish on upgrade",
      file: "migrations/0007_etag.sql",
      line: 4,
      why: "Every cached answer is lost at the first start, so the next tick asks for everything again and may hit the secondary limit.",
      check:
        "a database of the last release opened by this one answers the first tick with 304 only.",
      severity: "high",
      state: "new",
      since: null,
      mark: null,
      excerpt: [
        { number: 2, text: "-- one key for a repository's whole life", cited: false, added: true },
        {
          number: 3,
          text: "ALTER TABLE http_cache ADD COLUMN repo_id INTEGER;",
          cited: false,
          added: true,
        },
        {
          number: 4,
          text: "DELETE FROM http_cache WHERE repo_id IS NULL;",
          cited: true,
          added: true,
        },
        {
          number: 5,
          text: "CREATE INDEX http_cache_repo ON http_cache (repo_id, url, accept, 'a rather long literal that goes past the edge of the pane');",
          cited: false,
          added: false,
        },
      ],
    },
    {
      id: "f2",
      origin: "seat",
      title: "Stale body after 410",
      file: "src/github/cache.rs",
      line: 88,
      why: "A 410 keeps the stored body, and the next 304 serves it.",
      check: "cache test gone_clears_entry passes.",
      severity: null,
      state: "open",
      since: 6,
      mark: null,
      excerpt: [
        {
          number: 87,
          text: "    // the server has forgotten it; so do we",
          cited: false,
          added: false,
        },
        {
          number: 88,
          text: '    if status == 410 { return Ok(Some(body.expect("kept"))); }',
          cited: true,
          added: false,
        },
      ],
    },
    {
      id: "f3",
      origin: "steward",
      title: "Needs a look: assignment of a random-looking text",
      file: "tests/fixtures/\u202eexe.toml",
      line: 3,
      why: "The value has high entropy and stands after the word token.\u200b",
      check: "the line is gone, or its hash is in policy.review.secretExceptions.",
      severity: null,
      state: "fixed",
      since: 5,
      mark: null,
      excerpt: [],
    },
  ],
  frames: [
    {
      id: 1,
      sha: sha("9f31c07"),
      width: 1280,
      theme: "light",
      scale: 1,
      route: "/inbox",
      fresh: true,
      observation: "List aligned, no overflow",
      attachedAt: before(30),
    },
    {
      id: 2,
      sha: sha("9f31c07"),
      width: 1280,
      theme: "dark",
      scale: 1,
      route: "/inbox",
      fresh: true,
      observation: "Chip contrast holds",
      attachedAt: before(30),
    },
    {
      id: 3,
      sha: sha("9f31c07"),
      width: 390,
      theme: "light",
      scale: 2,
      route: "/inbox",
      fresh: true,
      observation: "Detail replaces list",
      attachedAt: before(30),
    },
    {
      id: 4,
      sha: sha("9f31c07"),
      width: 390,
      theme: "dark",
      scale: 2,
      route: "/inbox",
      fresh: false,
      observation: "Toast covers last row",
      attachedAt: before(30),
    },
  ],
  coverage: {
    complete: true,
    excluded: [
      { file: "ui/package-lock.json", why: "lockfile" },
      { file: "docs/schema.svg", why: "generated" },
    ],
    unread: [],
  },
  stats: { files: 18, added: 412, removed: 96 },
  cost: { usd: 0.43, budgetUsd: 1.5, tokens: 118_220, turns: 23 },
  model: "claude-opus-5-5",
  boundary: "bubblewrap",
  phase: null,
  steps: [],
  offers: [],
  queuedAt: before(6),
  startedAt: before(5.5),
  endedAt: before(2.3),
  now: before(0),
};

/** @type {GateView[]} */
const clean = gates.map((gate) =>
  gate.state === "fail"
    ? { ...gate, state: "pass", detail: "as it should be", evidence: { items: [] } }
    : gate,
);

/** @type {ReviewView[]} */
export const reviews = [
  changes,
  {
    ...changes,
    id: 8,
    task: 43,
    title: "Add keyset paging to the inbox",
    branch: "feat/keyset",
    pull: 126,
    verdict: "ACCEPTED",
    cap: "ACCEPTED",
    loweredBy: [],
    findings: [],
    gates: clean,
    frames: [],
    summary: "Paging by key holds under inserts; the test walks 10,000 rows both ways.",
    sha: sha("c41e9d2"),
    endedAt: before(26),
  },
  {
    ...changes,
    id: 9,
    task: 44,
    title: "Vendor the token list",
    workspace: "site",
    branch: "vendor-tokens",
    pull: null,
    verdict: "BLOCKED",
    seatVerdict: "CHANGES",
    cap: "BLOCKED",
    loweredBy: ["no_secrets"],
    findings: changes.findings.slice(0, 1),
    frames: [],
    gates: clean.map((gate) =>
      gate.id === "no_secrets"
        ? {
            ...gate,
            state: "fail",
            detail: "1 hit: github token in data/tokens.txt:12 (ghp_…)",
            evidence: {
              items: [
                { kind: "file", path: "data/tokens.txt", line: 12, note: "github token, ghp_…" },
              ],
            },
          }
        : gate,
    ),
    sha: sha("d00d1e5"),
    endedAt: before(61),
  },
  {
    ...changes,
    id: 10,
    task: 44,
    title: "Vendor the token list",
    workspace: "site",
    branch: "vendor-tokens",
    pull: null,
    state: "ended",
    verdict: "BLOCKED",
    seatVerdict: null,
    cap: null,
    loweredBy: [],
    reason: "timeout",
    reasonDetail: "no line for 5 min; the seat was stopped after 20 min 0 s",
    summary: null,
    findings: [],
    frames: [],
    coverage: { complete: false, excluded: [], unread: [{ file: "src/lib.rs", from: 12, to: 48 }] },
    cost: { usd: null, budgetUsd: 1.5, tokens: 88_000, turns: 12 },
    sha: sha("d00d1e4"),
    endedAt: before(130),
  },
  {
    ...changes,
    id: 11,
    task: 45,
    title: "Read the config through one door",
    branch: "config-door",
    pull: null,
    state: "running",
    verdict: null,
    seatVerdict: null,
    cap: null,
    loweredBy: [],
    findings: [],
    frames: [],
    summary: null,
    gates: clean,
    phase: "Reading src/config/raw.rs",
    steps: [
      { at: before(1.4), kind: "tool", text: "digest_get" },
      { at: before(1.2), kind: "tool", text: 'Grep "RawConfig" in src' },
      { at: before(0.9), kind: "tool", text: "Read src/config/mod.rs" },
      { at: before(0.2), kind: "tool", text: "Read src/config/raw.rs" },
    ],
    cost: { usd: 0.12, budgetUsd: 1.5, tokens: 31_400, turns: 6 },
    sha: sha("e5d4c3b"),
    queuedAt: before(2),
    startedAt: before(1.5),
    endedAt: null,
  },
  {
    ...changes,
    id: 12,
    task: 46,
    title: "Backoff that remembers",
    branch: "backoff",
    pull: 131,
    state: "held",
    verdict: null,
    cap: null,
    loweredBy: [],
    findings: changes.findings.slice(1, 2),
    frames: [],
    gates: clean.map((gate) =>
      gate.id === "ci" || gate.id === "pr_hygiene"
        ? {
            ...gate,
            state: "undecided",
            detail:
              gate.id === "ci"
                ? "sign in to GitHub to read checks"
                : "sign in to GitHub to read the pull request",
            evidence: { items: [] },
          }
        : gate,
    ),
    offers: [
      {
        code: "forge_none",
        label: "Judge without GitHub",
        hint: "makes the gates that need GitHub not applicable for this workspace",
      },
    ],
    sha: sha("f00ba12"),
    endedAt: null,
  },
  {
    ...changes,
    id: 6,
    stale: true,
    staleReason: "head_moved",
    staleText: "the head moved from 1a2b3c4 to 9f31c07",
    sha: sha("1a2b3c4"),
    endedAt: before(180),
  },
];

/** @param {ReviewView} review @returns {ReviewRow} */
function row(review) {
  return {
    id: review.id,
    task: review.task,
    title: review.title,
    sha: review.sha,
    state: review.state,
    trigger: review.trigger,
    verdict: review.verdict,
    reason: review.reason,
    stale: review.stale,
    staleReason: review.staleReason,
    waitsFor:
      review.state === "held"
        ? review.gates.filter((one) => one.state === "undecided").map((one) => one.id)
        : [],
    findings: review.findings.length,
    failedGates: review.gates.filter((one) => one.state === "fail").length,
    queuedAt: review.queuedAt,
    startedAt: review.startedAt,
    endedAt: review.endedAt,
    cost: review.cost,
  };
}

/** @type {TaskDetail[]} */
export const tasks = [42, 43, 44, 45, 46].map((id) => {
  const of = reviews.filter((one) => one.task === id);
  const [newest = changes] = of;
  return {
    task: {
      id,
      title: newest.title,
      workspace: newest.workspace,
      repository: newest.repository,
      pull: newest.pull,
      pullUrl: newest.pullUrl,
      branch: newest.branch,
      head: newest.sha,
      headAt: before(1),
      unreadable: id === 44 ? "branch vendor-tokens is gone; fetch it or remove the task" : null,
      state: id === 45 ? "running" : "done",
      contractVersion: id === 42 ? 2 : null,
      frames: newest.frames.length,
      handoffs: id === 42 ? 1 : 0,
      review: row(newest),
      createdAt: before(400),
      updatedAt: newest.endedAt ?? before(1),
    },
    reviews: of.map(row),
    contract:
      id === 42
        ? {
            version: 2,
            writeScope: ["src/github/**", "migrations/**"],
            checks: ["cargo test -p core cache"],
            mutations: "none",
            createdAt: before(900),
          }
        : null,
    frames: id === 42 ? changes.frames : [],
    handoffs:
      id === 42
        ? [{ peer: "peer-a", status: "done", note: "cache key and tests are in", at: before(40) }]
        : [],
  };
});

/** @param {number} many @returns {EntryView[]} */
export function inboxOf(many) {
  /** @type {[ReviewView, string, boolean][]} */
  const shown = reviews
    .filter((one) => one.verdict && !one.stale)
    .map((one) => [
      one,
      `${one.workspace} #${one.task} · ${one.gates.filter((gate) => gate.state === "fail").length} gates failed · ${one.findings.length} findings`,
      one.id !== 9,
    ]);
  const first = shown.map(([review, source, fresh], i) => ({
    id: 100 + i,
    kind: /** @type {const} */ ("review"),
    target: `review/${review.id}`,
    title: review.title,
    source,
    chip: review.verdict ?? "",
    state: i === 3 ? "done" : "open",
    read: !fresh,
    saved: i === 1,
    snoozeUntil: null,
    createdAt: review.endedAt ?? before(0),
    updatedAt: review.endedAt ?? before(0),
  }));
  /** @type {EntryView[]} */
  const more = Array.from({ length: Math.max(0, many - first.length) }, (_, i) => ({
    id: 200 + i,
    kind: i % 5 === 4 ? "incident" : "review",
    target: `review/${i % 2 ? 8 : 9}`,
    title:
      i % 5 === 4 ? "The boundary probe failed after an update" : `Earlier work number ${i + 1}`,
    source: "app #12 · 11 gates pass",
    chip: i % 5 === 4 ? "INCIDENT" : "ACCEPTED",
    state: i % 3 === 0 ? "done" : i % 3 === 1 ? "snoozed" : "open",
    read: true,
    saved: false,
    snoozeUntil: i % 3 === 1 ? new Date(START + 3 * 3_600_000).toISOString() : null,
    createdAt: before(200 + i * 30),
    updatedAt: before(200 + i * 30),
  }));
  return many === 0 ? [] : [...first, ...more];
}

/** @type {import("../../../ui/src/api/generated/WorkspaceView").WorkspaceView[]} */
export const workspaces = [
  {
    title: "app",
    path: "/home/me/src/app",
    forge: "github",
    repository: "octo/app",
    integration: "main",
    currentBranch: "fix/etag-rename",
    problem: null,
  },
  {
    title: "site",
    path: "/home/me/src/site",
    forge: "none",
    repository: null,
    integration: "main",
    currentBranch: "vendor-tokens",
    problem: null,
  },
  {
    title: "old",
    path: "/mnt/gone/old",
    forge: "github",
    repository: null,
    integration: null,
    currentBranch: null,
    problem: {
      code: "missing",
      message: "/mnt/gone/old is not there",
      hint: "mount it, or remove the workspace",
    },
  },
];

/** @type {import("../../../ui/src/api/generated/BranchView").BranchView[]} */
export const branches = [
  {
    name: "main",
    sha: sha("aa10"),
    subject: "Release 0.9",
    committedAt: before(3000),
    ahead: null,
    isIntegration: true,
    task: null,
  },
  {
    name: "fix/etag-rename",
    sha: sha("9f31c07"),
    subject: "fix: key the cache by repository id",
    committedAt: before(8),
    ahead: 3,
    isIntegration: false,
    task: 42,
  },
  {
    name: "feat/keyset",
    sha: sha("c41e9d2"),
    subject: "feat: page the inbox by key",
    committedAt: before(90),
    ahead: 5,
    isIntegration: false,
    task: 43,
  },
  {
    name: "spike/very-long-branch-name-that-someone-thought-was-a-good-idea-at-the-time",
    sha: sha("beef"),
    subject: "wip",
    committedAt: before(9000),
    ahead: 41,
    isIntegration: false,
    task: null,
  },
];

/** @type {import("../../../ui/src/api/generated/AgentView").AgentView} */
export const agent = {
  role: "reviewer",
  adapter: "claude",
  program: "/usr/local/bin/claude",
  version: "2.1.4",
  ready: true,
  problem: null,
  boundary: "bubblewrap",
  boundaryChecks: [
    { name: "canary secret", ok: true, detail: "unreadable inside", hint: null },
    { name: "parent environment", ok: true, detail: "unreadable inside", hint: null },
    { name: "data folder", ok: true, detail: "unreachable inside", hint: null },
    {
      name: "network",
      ok: false,
      detail: "the model endpoint cannot be relayed",
      hint: "the seat keeps the host's network; use a revocable credential",
    },
  ],
  credential: "ready",
  credentialHint: null,
  risk: "A seat with network can leak the model credential it holds; use a separate, revocable one.",
};

/** @type {import("../../../ui/src/api/generated/ConfigView").ConfigView} */
export const config = {
  path: "/home/me/.config/steward/config.yaml",
  exists: true,
  lastGoodInForce: true,
  problems: [
    {
      severity: "error",
      line: 7,
      column: 14,
      key: "review.budgetUsd",
      message: "expected a number, found a text",
      hint: "write 1.5 without quotes",
      snippet: '6 | review:\n7 |   budgetUsd: "1.5"\n  |              ^^^^^',
    },
    {
      severity: "warning",
      line: 12,
      column: 3,
      key: "notificatons",
      message: "unknown key",
      hint: "did you mean notifications?",
      snippet: null,
    },
  ],
  effective: [
    { key: "review.enabled", value: "true", origin: "config.yaml:6" },
    { key: "review.budgetUsd", value: "1.5", origin: "default" },
    { key: "spend.dailyUsd", value: "10", origin: "default" },
  ],
};

/** @type {import("../../../ui/src/api/generated/DoctorView").DoctorView} */
export const doctor = {
  healthy: false,
  checks: [
    { name: "database", ok: true, detail: "schema 1, integrity holds", hint: null },
    { name: "git", ok: true, detail: "2.39.5", hint: null },
    {
      name: "keyring",
      ok: false,
      detail: "no Secret Service on the bus",
      hint: "start gnome-keyring or set STEWARD_GITHUB_TOKEN",
    },
  ],
};
