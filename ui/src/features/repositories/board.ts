// Whose move an open pull request is: a table from what was last seen, nothing else.
import type { BoardView } from "../../api/generated/BoardView";
import type { IssueRow } from "../../api/generated/IssueRow";
import type { PullRow } from "../../api/generated/PullRow";

export type Move = "yours" | "failing" | "author" | "running" | "ready" | "drafts";
export type GroupId = Move | "issues";

export const GROUP: Record<GroupId, { word: string; note: string }> = {
  yours: { word: "Your review wanted", note: "no check fails, nobody has judged this head" },
  ready: { word: "Ready", note: "accepted, and no check fails" },
  failing: { word: "Checks failing", note: "the author's move" },
  author: { word: "With the author", note: "changes asked for, or a conflict" },
  running: { word: "Checks running", note: "or not known yet" },
  drafts: { word: "Drafts", note: "" },
  issues: { word: "Issues", note: "" },
};
const ORDER: readonly GroupId[] = [
  "yours",
  "ready",
  "failing",
  "author",
  "running",
  "drafts",
  "issues",
];

/** The first line that fits decides. What is not known is never ready. */
export function moveOf(pull: PullRow): Move {
  if (pull.draft) return "drafts";
  if (pull.checks === "failing") return "failing";
  if (pull.reviewDecision === "CHANGES_REQUESTED" || pull.mergeable === "CONFLICTING") {
    return "author";
  }
  if (pull.checks === "pending" || pull.checks === "unknown") return "running";
  const review = pull.review;
  const ours = review !== null && !review.stale && review.sha === pull.head ? review.verdict : null;
  if (ours === "CHANGES" || ours === "BLOCKED") return "author";
  const accepted =
    pull.reviewDecision === "APPROVED" || (pull.reviewDecision === null && ours === "ACCEPTED");
  return accepted && pull.mergeable === "MERGEABLE" ? "ready" : "yours";
}

export type Item =
  | { kind: "group"; id: GroupId; total: number }
  | { kind: "pull"; pull: PullRow }
  | { kind: "issue"; issue: IssueRow };

function matches(query: string, row: PullRow | IssueRow): boolean {
  const branch = "headBranch" in row ? row.headBranch : "";
  const text = [`#${row.number}`, row.title, row.author, branch, ...row.labels]
    .join(" ")
    .toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The board as one list: groups by whose move it is, newest first in each. */
export function itemsOf(board: BoardView, query: string): Item[] {
  const newest = (a: { updatedAt: string }, b: { updatedAt: string }): number =>
    b.updatedAt.localeCompare(a.updatedAt);
  const pulls = board.pulls.filter((pull) => matches(query, pull)).sort(newest);
  const issues = board.issues.filter((issue) => matches(query, issue)).sort(newest);
  return ORDER.flatMap((id): Item[] => {
    const rows: Item[] =
      id === "issues"
        ? issues.map((issue) => ({ kind: "issue", issue }))
        : pulls.filter((pull) => moveOf(pull) === id).map((pull) => ({ kind: "pull", pull }));
    return rows.length === 0 ? [] : [{ kind: "group", id, total: rows.length }, ...rows];
  });
}

/** What is worth saying of a pull beside its chips. */
export function notesOf(pull: PullRow): string[] {
  const notes: string[] = [];
  if (pull.mergeable === "CONFLICTING") notes.push("conflicts");
  if (pull.fromFork) notes.push(pull.headRepository === null ? "fork deleted" : "fork");
  return notes;
}
