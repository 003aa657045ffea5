// Gates in the order one reads them.
import type { GateView } from "../../api/generated/GateView";
import { GATE_STATE } from "../../lib/labels";

/** Failed first, then undecided, passed, not applicable; within a state the table's own order. */
export function sortedGates(gates: GateView[]): GateView[] {
  return gates.toSorted((a, b) => GATE_STATE[a.state].rank - GATE_STATE[b.state].rank);
}

/** `2 failed · 6 passed · 3 not applicable`. */
export function gateCounts(gates: GateView[]): string {
  return Object.entries(GATE_STATE)
    .map(([state, label]) => ({ n: gates.filter((gate) => gate.state === state).length, label }))
    .filter(({ n }) => n > 0)
    .map(({ n, label }) => `${n} ${label.counted}`)
    .join(" · ");
}
