// A key that stands twice stops the whole window, so a list is keyed by what cannot repeat.
import { expect, test } from "vitest";

const sources = import.meta.glob<string>("../**/*.svelte", {
  query: "?raw",
  import: "default",
  eager: true,
});

/** Keys beside the place in the list and a number of ours: each list of them is made by the window or a set. */
const UNIQUE: Record<string, string[]> = {
  "../features/engine/ChecksDialog.svelte": ["name"],
  "../features/engine/StepTable.svelte": ["step.step"],
  "../features/questions/Answering.svelte": ["option.letter"],
  "../features/questions/Delivery.svelte": ["step.stage"],
  "../features/questions/NeedCard.svelte": ["option.letter"],
  "../features/repositories/ModeDialog.svelte": ["one"],
  "../features/review/Progress.svelte": ["state", "review.steps.length - i"],
  "../features/settings/AccountCard.svelte": ["row.scope"],
  "../features/settings/Appearance.svelte": ["label.word"],
  "../features/settings/SettingsPage.svelte": ["id"],
  "../features/settings/SignIn.svelte": ["one.scope"],
  "../shell/KeySheet.svelte": ["group", "key.keys"],
  "../shell/Rail.svelte": ["item.page"],
  "./Excerpt.svelte": ["line.number"],
  "./State.svelte": ["width"],
  "./Windowed.svelte": ["key"],
};

const EACH = /\{#each (.*? as .*?(?:, (\w+))? \((.*?)\))\}/g;

test("no list of the window is keyed by text that can stand in it twice", () => {
  const files = Object.entries(sources);
  expect(files.length).toBeGreaterThan(80);
  const wrong: string[] = [];
  for (const [file, source] of files) {
    const lists = [...source.matchAll(EACH)];
    if (lists.length !== source.split("{#each").length - 1)
      wrong.push(`${file}: a list has no key`);
    for (const [, head = "", index, key = ""] of lists) {
      const isPlace = key === index;
      const isNumber = /^\w+\.id$/.test(key);
      if (!isPlace && !isNumber && !UNIQUE[file]?.includes(key)) wrong.push(`${file}: ${head}`);
    }
  }
  expect(wrong).toEqual([]);
});
