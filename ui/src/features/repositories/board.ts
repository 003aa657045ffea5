// Whose move an open pull request is: a table from what was last seen, nothing else.
import type { BoardView } from "../../api/generated/BoardView";
import type { IssueRow } from "../../api/generated/IssueRow";
import type { ItemView } from "../../api/generated/ItemView";
import type { PullRow } from "../../api/generated/PullRow";
import { ITEM_CLASS } from "../../lib/labels";

export type Move = "yours" | "failing" | "author" | "running" | "ready" | "drafts";
/** Where the engine follows the board: its classes, what is stuck, and what it has not judged. */
export type ClassGroup = (typeof BY_CLASS)[number];
export type GroupId = Move | "issues" | ClassGroup;

const BY_CLASS = [
  "stuck",
  "data",
  "code",
  "unreadable",
  "never_merge",
  "oversize",
  "foreign",
  "draft",
  "own_bot",
  "unjudged",
] as const;

const CLASSES = Object.fromEntries(
  BY_CLASS.map((id) => [id, ITEM_CLASS[id] ?? { word: id, note: "" }]),
) as Record<ClassGroup, { word: string; note: string }>;

export const GROUP: Record<GroupId, { word: string; note: string }> = {
  ...CLASSES,
  stuck: { word: "Stuck", note: "tried again daily, never closed" },
  unjudged: { word: "Not judged yet", note: "the next tick does" },
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
  | { kind: "pull"; pull: PullRow; item: ItemView | null }
  | { kind: "issue"; issue: IssueRow; item: ItemView | null };

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

/** The group of a pull among the engine's classes. */
function classOf(item: ItemView | null): ClassGroup {
  if (item === null) return "unjudged";
  if (item.stuck) return "stuck";
  return BY_CLASS.find((id) => id === item.class) ?? "unjudged";
}

/**
 * The board as one list, newest first in each group: by whose move it is, or, where the engine follows it,
 * by its classes.
 */
export function itemsOf(board: BoardView, query: string, by: "class" | "move" = "move"): Item[] {
  const newest = (a: { updatedAt: string }, b: { updatedAt: string }): number =>
    b.updatedAt.localeCompare(a.updatedAt);
  const pulls = board.pulls.filter((pull) => matches(query, pull)).sort(newest);
  const issues = board.issues.filter((issue) => matches(query, issue)).sort(newest);
  const followed = new Map(
    (board.engine?.items ?? []).map((item) => [`${item.kind}-${item.number}`, item]),
  );
  const itemOf = (kind: "pull" | "issue", number: number): ItemView | null =>
    followed.get(`${kind}-${number}`) ?? null;
  const isByClass = by === "class" && board.engine !== undefined;
  const order: readonly GroupId[] = isByClass ? [...BY_CLASS, "issues"] : ORDER;
  const groupOf = (pull: PullRow): GroupId =>
    isByClass ? classOf(itemOf("pull", pull.number)) : moveOf(pull);
  return order.flatMap((id): Item[] => {
    const rows: Item[] = [
      ...pulls
        .filter((pull) => groupOf(pull) === id)
        .map((pull): Item => ({ kind: "pull", pull, item: itemOf("pull", pull.number) })),
      ...issues
        .map((issue) => ({ issue, item: itemOf("issue", issue.number) }))
        .filter(({ item }) => (isByClass && item?.stuck ? "stuck" : "issues") === id)
        .map((row): Item => ({ kind: "issue", ...row })),
    ];
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
