// Words that were typed for a question and not sent: they wait there when the person comes back.
const kept = new Map<number, string>();

export function draftOf(need: number): string {
  return kept.get(need) ?? "";
}

export function keepDraft(need: number, words: string): void {
  if (words === "") kept.delete(need);
  else kept.set(need, words);
}
