// What the window says in passing: toasts, and words for the live regions.
import type { Refusal } from "../host";

export type Toast = {
  id: number;
  text: string;
  hint: string | null;
  tone: "done" | "failed";
  undo: (() => void) | null;
};

/** What can be undone, or went wrong, is given time to be read and used. */
const STAYS_MS = 10_000;
/** A plain confirmation only has to be noticed. */
const PASSES_MS = 3_500;

class Notices {
  toasts = $state.raw<Toast[]>([]);
  polite = $state("");
  assertive = $state("");
  #next = 1;
  #timers = new Map<number, ReturnType<typeof setTimeout>>();

  /** Says what was done; with an undo, for 10 seconds. */
  done(text: string, undo: (() => void) | null = null): void {
    this.#add({ text, hint: null, tone: "done", undo });
    this.say(text);
  }

  /** Says what did not work and the next step. */
  failed(what: string, why: Refusal): void {
    this.#add({ text: `${what}: ${why.message}`, hint: why.hint, tone: "failed", undo: null });
    this.alarm(`${what}: ${why.message}`);
  }

  /** Takes back what the newest word offers to; false when none does. */
  undo(): boolean {
    const newest = [...this.toasts].reverse().find((toast) => toast.undo !== null);
    if (!newest?.undo) return false;
    this.dismiss(newest.id);
    newest.undo();
    return true;
  }

  dismiss(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  /** Keeps a toast while it is pointed at or focused. */
  hold(id: number): void {
    clearTimeout(this.#timers.get(id));
  }

  release(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.set(
      id,
      setTimeout(() => this.dismiss(id), this.#isPassing(id) ? PASSES_MS : STAYS_MS),
    );
  }

  say(text: string): void {
    this.polite = text;
  }

  alarm(text: string): void {
    this.assertive = text;
  }

  #add(toast: Omit<Toast, "id">): void {
    const id = this.#next++;
    // A newer word takes the place of confirmations that were only passing by.
    for (const old of this.toasts) if (this.#isPassing(old.id)) this.dismiss(old.id);
    this.toasts = [...this.toasts.slice(-2), { id, ...toast }];
    this.release(id);
  }

  #isPassing(id: number): boolean {
    const toast = this.toasts.find((one) => one.id === id);
    return toast !== undefined && toast.tone === "done" && toast.undo === null;
  }
}

export const notices = new Notices();
