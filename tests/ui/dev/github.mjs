// FOR DRAWING ONLY: accounts, repositories, boards and effects of dev/server.mjs, held to the types.

import { engine } from "./engine.mjs";

const START = Date.now();
/** @param {number} minutes */
const before = (minutes) => new Date(START - minutes * 60_000).toISOString();
/** @param {string} seed */
const sha = (seed) => `${seed}5c0ffee9a1b2c3d4e5f60718293a4b5c6d7e8f9012345678`.slice(0, 40);

/** @type {import("../../../ui/src/api/generated/BudgetView").BudgetView[]} */
export const budgets = [
  ["core", 4812, 5000],
  ["graphql", 4930, 5000],
  ["search", 28, 30],
].map(([resource, remaining, limit]) => ({
  host: "github.com",
  account: "octo-maintainer",
  resource: String(resource),
  remaining: Number(remaining),
  limit: Number(limit),
  resetAt: before(-34),
  pausedUntil: null,
  why: null,
  seenAt: before(2),
}));

/** @type {import("../../../ui/src/api/generated/ObserverView").ObserverView} */
export const observer = {
  state: "waiting",
  lastTick: before(2),
  nextTick: before(-8),
  problem: null,
  requests: 4,
  points: 5,
  budgets,
};

/** @typedef {import("../../../ui/src/api/generated/RepositoryView").RepositoryView} RepositoryView */
/** @type {RepositoryView[]} */
export const repositories = [
  {
    host: "github.com",
    name: "octo/app",
    account: "octo-maintainer",
    mode: "suggest",
    act: [],
    asked: { mode: "suggest", act: [] },
    preset: "code-app",
    workspace: "app",
    nowCalled: null,
    defaultBranch: "main",
    private: false,
    archived: false,
    permission: "ADMIN",
    observedAt: before(2),
    triedAt: before(2),
    problem: null,
    openPulls: 9,
    openIssues: 3,
    unconfirmed: false,
    frozen: null,
  },
  {
    host: "github.com",
    name: "octo/site",
    account: "octo-maintainer",
    mode: "suggest",
    act: [],
    asked: { mode: "act", act: ["comment_review"] },
    preset: "docs-site",
    workspace: null,
    nowCalled: "octo/website",
    defaultBranch: "main",
    private: true,
    archived: false,
    permission: "WRITE",
    observedAt: before(190),
    triedAt: before(2),
    problem: {
      code: "incomplete",
      message: "page 3 of the open pull requests failed: 502",
      hint: "the next look tries again; nothing is taken from a part",
    },
    openPulls: 41,
    openIssues: 12,
    unconfirmed: true,
    frozen: null,
  },
  {
    host: "github.com",
    name: "octo-catalogues/a-repository-with-quite-a-long-name",
    account: "octo-maintainer",
    mode: "observe",
    act: [],
    asked: { mode: "observe", act: [] },
    preset: "data-catalogue",
    workspace: null,
    nowCalled: null,
    defaultBranch: null,
    private: null,
    archived: null,
    permission: null,
    observedAt: null,
    triedAt: null,
    problem: null,
    openPulls: 0,
    openIssues: 0,
    unconfirmed: false,
    frozen: null,
  },
];

/** @typedef {import("../../../ui/src/api/generated/PullRow").PullRow} PullRow */
/** @param {number} number @param {Partial<PullRow>} change @returns {PullRow} */
function pull(number, change) {
  return {
    number,
    title: `feat: change ${number}`,
    author: "maria",
    head: sha(`a${number}b`),
    headBranch: `feat/${number}`,
    headRepository: "octo/app",
    fromFork: false,
    baseBranch: "main",
    draft: false,
    labels: [],
    checks: "passing",
    reviewDecision: null,
    mergeable: "MERGEABLE",
    updatedAt: before(number),
    seenAt: before(2),
    url: `https://github.com/octo/app/pull/${number}`,
    task: null,
    review: null,
    ...change,
  };
}

/** @param {import("../../../ui/src/api/generated/ReviewRow").ReviewRow | null} review */
export function boardOf(/** @type {RepositoryView} */ repository, review) {
  /** @type {import("../../../ui/src/api/generated/BoardView").BoardView} */
  const empty = { repository, pulls: [], issues: [] };
  if (repository.name !== "octo/app") return empty;
  return {
    ...empty,
    engine,
    pulls: [
      pull(128, {
        title: "Fix ETag cache on renamed repositories",
        task: 42,
        review: review && { ...review, stale: true },
        headBranch: "fix/etag-rename",
        labels: ["bug", "needs-changelog"],
      }),
      pull(130, {
        title: "Add keyset paging to the inbox",
        author: "tomasz",
        reviewDecision: "REVIEW_REQUIRED",
        fromFork: true,
        headRepository: "tomasz/app",
        headBranch: "keyset-paging-for-very-long-inboxes-with-a-long-name",
        labels: ["enhancement", "performance", "ui", "needs-docs"],
      }),
      pull(126, { title: "Vendor the token list", checks: "failing", task: 44 }),
      pull(125, {
        title: "Bump tokio from 1.40 to 1.41",
        author: "dependabot[bot]",
        checks: "failing",
      }),
      pull(121, { title: "Retry on 502", reviewDecision: "CHANGES_REQUESTED" }),
      pull(119, { title: "Rework the board", mergeable: "CONFLICTING" }),
      pull(131, { title: "Speed up the probe", checks: "pending", mergeable: "UNKNOWN" }),
      pull(117, { title: "Typo in the README", reviewDecision: "APPROVED", checks: "none" }),
      pull(110, { title: "wip: plugin system \u202e evil", draft: true, checks: "pending" }),
    ],
    issues: [
      ["Search is slow with 100,000 entries", "lin"],
      ["<img src=x onerror=alert(1)> in titles", "mallory"],
      ["Document the config file", "octo-maintainer"],
    ].map(([title, author], i) => ({
      number: 90 + i,
      title: String(title),
      author: String(author),
      labels: i === 0 ? ["performance"] : [],
      updatedAt: before(60 * (i + 1)),
      seenAt: before(2),
      url: `https://github.com/octo/app/issues/${90 + i}`,
    })),
  };
}

/** @type {import("../../../ui/src/api/generated/AccountPage").AccountPage} */
export const accounts = {
  accounts: [
    {
      host: "github.com",
      login: "octo-maintainer",
      token: "keyring",
      kind: "classic",
      checkedAt: before(12),
      expiresAt: before(-60 * 24 * 5),
      expiresSoon: true,
      scopes: [
        {
          scope: "public_repo",
          need: "required",
          held: "granted",
          wantedBy: [
            {
              system: "review",
              permission:
                "Metadata, Contents, Issues, Checks, Commit statuses: read; Pull requests: read, and write to post reviews",
              why: "reads pull requests and checks of public repositories",
            },
          ],
        },
        {
          scope: "gist",
          need: "required",
          held: "missing",
          wantedBy: [
            {
              system: "memory",
              permission: "Gists: read and write",
              why: "keeps the shared memory in a private Gist",
            },
          ],
        },
        {
          scope: "repo",
          need: "recommended",
          held: "missing",
          wantedBy: [
            {
              system: "review",
              permission: "access to the private repositories",
              why: "reads private repositories too",
            },
            {
              system: "memory",
              permission: "access to the private repositories",
              why: "answers in private repositories too",
            },
          ],
        },
      ],
      unneeded: ["delete_repo", "admin:org"],
      problem: null,
    },
    {
      host: "github.example.org",
      login: "octo",
      token: "missing",
      kind: null,
      checkedAt: null,
      expiresAt: null,
      expiresSoon: false,
      scopes: [],
      unneeded: [],
      problem: null,
    },
  ],
  gh: [{ host: "github.com", login: "octo-cat", watched: false }],
  keyring: null,
  budgets,
};

/** @type {import("../../../ui/src/api/generated/OfferPage").OfferPage} */
export const offers = {
  clones: ["octo/app", "octo/tools", "lin/dotfiles"].map((name, i) => ({
    host: "github.com",
    name,
    path: `/home/me/src/${name.split("/")[1]}`,
    private: null,
    archived: false,
    activeAt: before(60 * (i + 1)),
    watched: i === 0,
  })),
  account: ["octo/site-next", "octo/secret-plans", "octo/attic", "octo/site-next"].map(
    (name, i) => ({
      host: i === 3 ? "github.example.org" : "github.com",
      name,
      path: null,
      private: i === 1,
      archived: i === 2,
      activeAt: before(60 * 24 * (i + 1)),
      watched: false,
    }),
  ),
  problems: [
    {
      code: "signed_out",
      message:
        "the repositories of octo on github.example.org cannot be listed: nobody is signed in",
      hint: "sign in under Accounts",
    },
  ],
};

const CONTENT = `<!-- steward:review head=${sha("9f31c07")} -->
**CHANGES** at 9f31c07

| gate | state | |
|---|---|---|
| pr_hygiene | fail | Body has no *not done / not verified* section |
| no_churn | fail | ui/package-lock.json changed without ui/package.json |

1. **Rows vanish on upgrade** (\`migrations/0007_etag.sql:4\`)
   Every cached answer is lost at the first start, so the next tick asks for everything again.
   Fixed when: a database of the last release opened by this one answers the first tick with 304 only.
`;

/** @typedef {import("../../../ui/src/api/generated/EffectView").EffectView} EffectView */
/** @type {EffectView[]} */
export const effects = /** @type {const} */ (["suggested", "done", "failed", "obsolete"]).map(
  (state, i) => ({
    id: i + 1,
    class: "comment_review",
    state,
    host: "github.com",
    repository: "octo/app",
    number: 128,
    head: sha("9f31c07"),
    account: "octo-maintainer",
    content: CONTENT,
    facts: [],
    line: null,
    diff: null,
    diffNote: null,
    hash: `e7a${i}`,
    title: "Comment with review 7 on octo/app#128",
    subjectUrl: "https://github.com/octo/app/pull/128",
    reason:
      state === "failed"
        ? {
            code: "secret",
            message: "the text holds what looks like a credential",
            hint: "look at finding 2; nothing was sent",
          }
        : state === "obsolete"
          ? { code: "head_moved", message: "the head moved to c41e9d2", hint: null }
          : null,
    attempt: state === "done" ? 1 : 0,
    createdAt: before(14),
    intentAt: state === "done" ? before(12) : null,
    outcomeAt: state === "suggested" ? null : before(12),
    retryAt: null,
    resultUrl: state === "done" ? "https://github.com/octo/app/pull/128#issuecomment-9912" : null,
    review: 7,
    task: 42,
    canSend: state === "suggested",
    canDismiss: state === "suggested",
  }),
);

/** @type {import("../../../ui/src/api/generated/PowerView").PowerView} */
export const powers = {
  pending: [
    { key: "repositories.octo/site.mode", now: "suggest", asked: "act", widens: true },
    { key: "repositories.octo/site.act", now: "none", asked: "comment_review", widens: true },
    { key: "spend.dailyUsd", now: "10", asked: "25", widens: true },
  ],
  change: "7f3a",
};

/** @type {import("../../../ui/src/api/generated/EntryView").EntryView[]} */
export const entries = [
  {
    id: 400,
    kind: "suggestion",
    target: "effect/1",
    title: "Comment with review 7 on octo/app#128",
    source: "octo/app #128 · 9f31c07",
    chip: "send?",
    state: "open",
    read: false,
    saved: false,
    snoozeUntil: null,
    createdAt: before(14),
    updatedAt: before(14),
  },
  {
    id: 401,
    kind: "approval",
    target: "settings/powers",
    title: "The config file asks for more power",
    source: "config.yaml · 3 changes",
    chip: "confirm",
    state: "open",
    read: false,
    saved: false,
    snoozeUntil: null,
    createdAt: before(20),
    updatedAt: before(20),
  },
];
