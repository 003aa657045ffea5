// Small true-to-type views for component tests.

import type { AccountView } from "../api/generated/AccountView";
import type { EditView } from "../api/generated/EditView";
import type { EffectView } from "../api/generated/EffectView";
import type { EntryView } from "../api/generated/EntryView";
import type { FindingView } from "../api/generated/FindingView";
import type { GateId } from "../api/generated/GateId";
import type { GateState } from "../api/generated/GateState";
import type { GateView } from "../api/generated/GateView";
import type { InboxPage } from "../api/generated/InboxPage";
import type { IssueRow } from "../api/generated/IssueRow";
import type { ItemView } from "../api/generated/ItemView";
import type { MemberView } from "../api/generated/MemberView";
import type { NeedAnswerView } from "../api/generated/NeedAnswerView";
import type { NeedView } from "../api/generated/NeedView";
import type { ObserverView } from "../api/generated/ObserverView";
import type { PullRow } from "../api/generated/PullRow";
import type { RepositoryView } from "../api/generated/RepositoryView";
import type { ReviewRow } from "../api/generated/ReviewRow";
import type { ReviewView } from "../api/generated/ReviewView";
import type { RosterView } from "../api/generated/RosterView";
import type { Status } from "../api/generated/Status";
import type { TaskView } from "../api/generated/TaskView";

export const AT = "2026-03-01T10:00:00Z";
export const SHA = "9f31c07a5d4e3b2c1f0e9d8c7b6a594837261504";

export function gate(id: GateId, state: GateState, detail = `${id} is ${state}`): GateView {
  return { id, state, detail, evidence: { items: [] } };
}

export function finding(change: Partial<FindingView> = {}): FindingView {
  return {
    id: "f1",
    origin: "seat",
    title: "Rows vanish",
    file: "a.sql",
    line: 4,
    why: "Every answer is lost.",
    check: "the first tick answers 304",
    severity: null,
    state: "new",
    since: null,
    mark: null,
    excerpt: [],
    ...change,
  };
}

export function review(change: Partial<ReviewView> = {}): ReviewView {
  return {
    id: 7,
    task: 42,
    title: "Fix the cache",
    workspace: "app",
    repository: null,
    branch: "fix/cache",
    pull: null,
    pullUrl: null,
    sha: SHA,
    base: { branch: "main", tip: null, mergeBase: null },
    state: "published",
    trigger: "manual",
    verdict: "CHANGES",
    seatVerdict: "ACCEPTED",
    cap: "CHANGES",
    loweredBy: ["no_churn"],
    loweredBecause: [],
    reason: null,
    reasonDetail: null,
    stale: false,
    staleReason: null,
    staleText: null,
    summary: "Mostly well.",
    gates: [gate("ci", "pass"), gate("no_churn", "fail"), gate("scope", "notApplicable")],
    gatesAt: AT,
    findings: [finding()],
    frames: [],
    coverage: { complete: true, excluded: [], unread: [] },
    stats: { files: 2, added: 10, removed: 3 },
    cost: { usd: 0.43, budgetUsd: 1.5, tokens: 1000, turns: 4 },
    model: null,
    boundary: "bubblewrap",
    phase: null,
    steps: [],
    offers: [],
    queuedAt: AT,
    startedAt: AT,
    endedAt: "2026-03-01T10:03:12Z",
    now: "2026-03-01T10:05:00Z",
    ...change,
  };
}

export function entry(id: number, change: Partial<EntryView> = {}): EntryView {
  return {
    id,
    kind: "review",
    target: `review/${id}`,
    title: `Entry ${id}`,
    source: "app #1",
    chip: "CHANGES",
    state: "open",
    read: false,
    saved: false,
    snoozeUntil: null,
    createdAt: AT,
    updatedAt: AT,
    ...change,
  };
}

/** A page of the inbox that holds `shown` of `all`. */
export function inboxPage(shown: EntryView[], all: EntryView[] = shown, more = false): InboxPage {
  const kinds = [...new Set(all.map((one) => one.kind))];
  return {
    entries: shown,
    total: all.length,
    unread: all.filter((one) => !one.read).length,
    saved: all.filter((one) => one.saved).length,
    kinds: kinds.map((kind) => ({ kind, total: all.filter((one) => one.kind === kind).length })),
    more,
  };
}

export function observer(change: Partial<ObserverView> = {}): ObserverView {
  return {
    state: "waiting",
    lastTick: AT,
    nextTick: "2099-01-01T00:00:00Z",
    problem: null,
    requests: 4,
    points: 5,
    budgets: [],
    ...change,
  };
}

export function status(change: Partial<Status> = {}): Status {
  return {
    version: "0.1.0",
    state: "running",
    reasons: [],
    holder: null,
    isHolder: true,
    lastTick: AT,
    paused: null,
    reviewEnabled: true,
    openReviews: 0,
    engineTasks: 0,
    heldReviews: 2,
    breakerOpen: false,
    inboxOpen: 2,
    inboxUnread: 2,
    tasks: 1,
    spend: {
      todayUsd: 2.14,
      monthUsd: 3,
      dailyCapUsd: 10,
      monthlyCapUsd: 100,
      unknownToday: 0,
      tokensToday: 0,
      exhausted: false,
    },
    observer: observer({ state: "off" }),
    now: AT,
    ...change,
  };
}

export function repository(name: string, change: Partial<RepositoryView> = {}): RepositoryView {
  return {
    host: "github.com",
    name,
    account: "octo",
    mode: "observe",
    act: [],
    asked: { mode: change.mode ?? "observe", act: change.act ?? [] },
    preset: "code-app",
    workspace: null,
    nowCalled: null,
    defaultBranch: "main",
    private: false,
    archived: false,
    permission: "WRITE",
    observedAt: AT,
    triedAt: AT,
    problem: null,
    openPulls: 1,
    openIssues: 0,
    unconfirmed: false,
    frozen: null,
    ...change,
  };
}

export function pull(number: number, change: Partial<PullRow> = {}): PullRow {
  return {
    number,
    title: `Pull ${number}`,
    author: "maria",
    head: SHA,
    headBranch: `feat/${number}`,
    headRepository: "octo/app",
    fromFork: false,
    baseBranch: "main",
    draft: false,
    labels: [],
    checks: "passing",
    reviewDecision: null,
    mergeable: "MERGEABLE",
    updatedAt: AT,
    seenAt: AT,
    url: `https://github.com/octo/app/pull/${number}`,
    task: number,
    review: null,
    ...change,
  };
}

export function issue(number: number, change: Partial<IssueRow> = {}): IssueRow {
  return {
    number,
    title: `Issue ${number}`,
    author: "maria",
    labels: [],
    updatedAt: AT,
    seenAt: AT,
    url: `https://github.com/octo/app/issues/${number}`,
    ...change,
  };
}

export function reviewRow(change: Partial<ReviewRow> = {}): ReviewRow {
  return {
    id: 7,
    task: 1,
    title: "Fix the cache",
    sha: SHA,
    state: "published",
    trigger: "manual",
    verdict: "ACCEPTED",
    reason: null,
    stale: false,
    staleReason: null,
    waitsFor: [],
    findings: 0,
    failedGates: 0,
    queuedAt: AT,
    startedAt: AT,
    endedAt: AT,
    cost: { usd: 0.43, budgetUsd: 1.5, tokens: 1000, turns: 4 },
    ...change,
  };
}

export function effect(change: Partial<EffectView> = {}): EffectView {
  return {
    id: 3,
    class: "comment_review",
    state: "suggested",
    host: "github.com",
    repository: "octo/app",
    number: 12,
    head: SHA,
    account: "octo",
    content: "<!-- steward:review -->\n**CHANGES** on 9f31c07\n",
    facts: [],
    line: null,
    diff: null,
    diffNote: null,
    hash: "e7a1",
    title: "Comment with review 7 on octo/app#12",
    subjectUrl: "https://github.com/octo/app/pull/12",
    reason: null,
    attempt: 0,
    createdAt: AT,
    intentAt: null,
    outcomeAt: null,
    retryAt: null,
    resultUrl: null,
    review: 7,
    task: 1,
    canSend: true,
    canDismiss: true,
    ...change,
  };
}

export function account(change: Partial<AccountView> = {}): AccountView {
  return {
    host: "github.com",
    login: "octo",
    token: "keyring",
    kind: "classic",
    checkedAt: AT,
    expiresAt: null,
    expiresSoon: false,
    scopes: [
      {
        scope: "public_repo",
        need: "required",
        held: "granted",
        wantedBy: [{ system: "review", permission: "Contents: read", why: "reads pull requests" }],
      },
      {
        scope: "repo",
        need: "recommended",
        held: "missing",
        wantedBy: [{ system: "review", permission: "private", why: "reads private repositories" }],
      },
    ],
    unneeded: [],
    problem: null,
    ...change,
  };
}

export function task(id: number, change: Partial<TaskView> = {}): TaskView {
  return {
    id,
    title: `Task ${id}`,
    workspace: null,
    repository: "octo/app",
    pull: id,
    pullUrl: `https://github.com/octo/app/pull/${id}`,
    branch: `feat/${id}`,
    head: SHA,
    headAt: AT,
    unreadable: null,
    state: "done",
    contractVersion: null,
    frames: 0,
    handoffs: 0,
    review: null,
    createdAt: AT,
    updatedAt: AT,
    ...change,
  };
}

export function need(change: Partial<NeedView> = {}): NeedView {
  return {
    id: 3,
    agent: "coord",
    host: "studio",
    project: "app",
    topic: "storage",
    question: "WAL or rollback?",
    options: [
      { letter: "A", text: "WAL", answer: "A) WAL" },
      { letter: "B", text: "rollback", answer: "B) rollback" },
    ],
    origin: "cli",
    judged: false,
    state: "open",
    text: "waits for you",
    version: 1,
    line: "",
    prompt: null,
    advice: null,
    answer: null,
    may: {
      answer: true,
      press: false,
      whyNotAllow: null,
      drop: true,
      takeBack: false,
      typeAnswer: false,
      why: null,
    },
    pane: null,
    entry: 1,
    askedAt: AT,
    closedAt: null,
    ...change,
  };
}

export function answer(change: Partial<NeedAnswerView> = {}): NeedAnswerView {
  return {
    id: 1,
    words: "B, but keep the old files",
    way: "type",
    stage: "queued",
    text: "about to be sent",
    why: null,
    answeredAt: AT,
    updatedAt: AT,
    ...change,
  };
}

export function member(agent: string, change: Partial<MemberView> = {}): MemberView {
  return {
    agent,
    host: "studio",
    project: "app",
    pane: "%12",
    adapter: null,
    state: "idle",
    detail: "",
    flagged: null,
    absent: null,
    reach: "local",
    since: AT,
    capturedAt: AT,
    needs: [],
    briefed: false,
    ...change,
  };
}

export function roster(change: Partial<RosterView> = {}): RosterView {
  return {
    members: [],
    watcher: { state: "ready", text: "the watcher seat judges what facts do not settle" },
    tick: null,
    tickAt: null,
    resolutionFail: false,
    faults: [],
    keys: true,
    owner: "leon",
    ...change,
  };
}

export function item(number: number, change: Partial<ItemView> = {}): ItemView {
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
    url: `https://github.com/octo/app/pull/${number}`,
    askedAt: null,
    ended: null,
    ...change,
  };
}

/** An edit of the config file that adds one line. */
export function editView(added: string, pending: EditView["pending"] = []): EditView {
  return {
    path: "~/config.yaml",
    parts: [
      {
        lines: [
          { side: "same", before: 1, after: 1, text: "repositories: # mine" },
          { side: "added", before: null, after: 2, text: added },
        ],
      },
    ],
    pending,
  };
}
