// Small true-to-type views for component tests.
import type { EntryView } from "../api/generated/EntryView";
import type { FindingView } from "../api/generated/FindingView";
import type { GateId } from "../api/generated/GateId";
import type { GateState } from "../api/generated/GateState";
import type { GateView } from "../api/generated/GateView";
import type { ReviewView } from "../api/generated/ReviewView";

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
