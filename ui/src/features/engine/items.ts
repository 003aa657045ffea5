// Small judgements about what the engine follows, for the window alone.

import type { ConditionView } from "../../api/generated/ConditionView";
import type { ItemView } from "../../api/generated/ItemView";
import type { ShadowRow } from "../../api/generated/ShadowRow";
import { count } from "../../lib/format";

/** How many conditions hold, in words; nothing where none was judged. */
export function metCount(steps: ConditionView[]): string {
  if (steps.length === 0) return "";
  const met = steps.filter((step) => step.state === "met").length;
  return met === steps.length ? "every condition holds" : `${met} of ${steps.length} hold`;
}

/** True for what waits for a time that a person may cut short. */
export function canTry(item: ItemView): boolean {
  return item.ended === null && (item.stuck || item.nextAttemptAt !== null);
}

/** What the shadow run comes to, in one sentence. */
export function shadowSum(rows: ShadowRow[], cut = false): string {
  const would = rows.filter((row) => row.wouldMerge).length;
  if (rows.length === 0) {
    return cut ? "Nothing was judged." : "Nothing was merged yet that could be judged.";
  }
  return `The gate would have let ${would} of the last ${count(rows.length, "merge")} through by itself.`;
}

/** The reasons for the others, the most frequent first. */
export function shadowReasons(rows: ShadowRow[]): { word: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    if (row.wouldMerge) continue;
    const word = row.class === "data" ? row.decision : row.class;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts]
    .map(([word, count]) => ({ word, count }))
    .sort((a, b) => b.count - a.count || a.word.localeCompare(b.word));
}
