// The one budget of each host that runs out first: what the foot has room for.
import type { BudgetView } from "../api/generated/BudgetView";

export type Tight = {
  key: string;
  host: string;
  left: number;
  of: number;
  /** Nothing is asked of the host before. */
  paused: string | null;
};

function share(one: BudgetView): number {
  return one.remaining === null || !one.limit ? 1 : one.remaining / one.limit;
}

/** For each host its pause, or else the limit with the smallest share left; search counts apart. */
export function tightest(budgets: BudgetView[]): Tight[] {
  const hosts = [...new Set(budgets.map((one) => one.host))].sort();
  return hosts.flatMap((host) => {
    const mine = budgets.filter((one) => one.host === host);
    const name = host === "github.com" ? "GitHub" : host;
    const stop = mine.map((one) => one.pausedUntil).filter((until) => until !== null);
    const paused = stop.sort().at(-1) ?? null;
    const told = mine
      .filter((one) => one.remaining !== null && one.limit !== null && one.resource !== "search")
      .sort((a, b) => share(a) - share(b))[0];
    if (paused === null && told === undefined) return [];
    return [{ key: host, host: name, left: told?.remaining ?? 0, of: told?.limit ?? 0, paused }];
  });
}
