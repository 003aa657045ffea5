import { describe, expect, test } from "vitest";
import type { PullRow } from "../../api/generated/PullRow";
import { issue, pull, repository, reviewRow, SHA } from "../../testing/views";
import { itemsOf, type Move, moveOf, notesOf } from "./board";

describe("whose move a pull request is", () => {
  const cases: [string, Partial<PullRow>, Move][] = [
    ["checks pass and nobody judged it", {}, "yours"],
    ["there are no checks at all", { checks: "none" }, "yours"],
    ["a review is required", { reviewDecision: "REVIEW_REQUIRED" }, "yours"],
    ["it is approved and merges", { reviewDecision: "APPROVED" }, "ready"],
    ["the seat accepted this head", { review: reviewRow() }, "ready"],
    [
      "the seat accepted it, but the repository requires a person",
      { review: reviewRow(), reviewDecision: "REVIEW_REQUIRED" },
      "yours",
    ],
    ["the seat accepted another head", { review: reviewRow({ sha: "0".repeat(40) }) }, "yours"],
    ["the acceptance went stale", { review: reviewRow({ stale: true }) }, "yours"],
    [
      "it is approved, and nobody knows whether it merges",
      { reviewDecision: "APPROVED", mergeable: null },
      "yours",
    ],
    [
      "it is approved and conflicts",
      { reviewDecision: "APPROVED", mergeable: "CONFLICTING" },
      "author",
    ],
    ["the seat asked for changes", { review: reviewRow({ verdict: "CHANGES" }) }, "author"],
    ["the seat blocked it", { review: reviewRow({ verdict: "BLOCKED" }) }, "author"],
    ["a person asked for changes", { reviewDecision: "CHANGES_REQUESTED" }, "author"],
    ["checks run", { checks: "pending", reviewDecision: "APPROVED" }, "running"],
    [
      "the checks said a word nobody knows",
      { checks: "unknown", reviewDecision: "APPROVED" },
      "running",
    ],
    ["checks fail", { checks: "failing", reviewDecision: "APPROVED" }, "failing"],
    ["it is a draft whose checks fail", { checks: "failing", draft: true }, "drafts"],
  ];
  test.each(cases)("%s", (_, change, move) => {
    expect(moveOf(pull(1, change))).toBe(move);
  });
});

test("the board stands in groups, newest first, issues last, and empty groups are absent", () => {
  const board = {
    repository: repository("octo/app"),
    pulls: [
      pull(1, { updatedAt: "2026-03-01T09:00:00Z" }),
      pull(2, { updatedAt: "2026-03-01T10:00:00Z" }),
      pull(3, { draft: true }),
    ],
    issues: [issue(9)],
  };
  const words = itemsOf(board, "").map((item) =>
    item.kind === "group"
      ? `${item.id} ${item.total}`
      : item.kind === "pull"
        ? `#${item.pull.number}`
        : `issue ${item.issue.number}`,
  );
  expect(words).toEqual(["yours 2", "#2", "#1", "drafts 1", "#3", "issues 1", "issue 9"]);
});

test.each([
  ["#12", [12]],
  ["cache maria", [12]],
  ["NEEDS-docs", [7]],
  ["feat/7", [7]],
  ["nothing", []],
])("search for %s finds %j", (query, numbers) => {
  const board = {
    repository: repository("octo/app"),
    pulls: [
      pull(12, { title: "Fix the cache" }),
      pull(7, { author: "lin", labels: ["needs-docs"] }),
    ],
    issues: [],
  };
  const found = itemsOf(board, query).flatMap((item) =>
    item.kind === "pull" ? [item.pull.number] : [],
  );
  expect(found).toEqual(numbers);
});

test("a deleted fork and a conflict are said", () => {
  expect(
    notesOf(pull(1, { fromFork: true, headRepository: null, mergeable: "CONFLICTING", head: SHA })),
  ).toEqual(["conflicts", "fork deleted"]);
});
