import { expect, test } from "vitest";
import type { BudgetView } from "../api/generated/BudgetView";
import { AT } from "../testing/views";
import { tightest } from "./budgets";

function budget(resource: string, change: Partial<BudgetView> = {}): BudgetView {
  return {
    host: "github.com",
    account: "octo",
    resource,
    remaining: 4000,
    limit: 5000,
    resetAt: AT,
    pausedUntil: null,
    why: null,
    seenAt: AT,
    ...change,
  };
}

test("the foot shows the limit that runs out first, and the small one of searches does not hide it", () => {
  const shown = tightest([
    budget("core"),
    budget("graphql", { remaining: 900 }),
    budget("search", { remaining: 1, limit: 30 }),
  ]);
  expect(shown).toEqual([{ key: "github.com", host: "GitHub", left: 900, of: 5000, paused: null }]);
});

test("a pause of the whole host goes before any figure", () => {
  const paused = budget("", { account: "", remaining: null, limit: null, pausedUntil: AT });
  expect(tightest([budget("core"), paused])[0]?.paused).toBe(AT);
});

test("each host has its own line, and one that never answered has none", () => {
  const other = budget("core", { host: "github.example.org" });
  const silent = budget("core", { host: "mute.example.org", remaining: null, limit: null });
  expect(tightest([other, budget("core"), silent]).map((one) => one.host)).toEqual([
    "GitHub",
    "github.example.org",
  ]);
});
