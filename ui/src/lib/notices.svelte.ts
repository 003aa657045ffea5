// What the window says in passing: toasts, and words for the live regions.
import type { Refusal } from "../host";

export type Toast = {
  id: number;
  text: string;
  hint: string | null;
  tone: "done" | "failed";
  undo: (() => void) | null;
};

const STAYS_MS = 10_000;

class Notices {
  toasts = $state.raw<Toast[]>([]);
  polite = $state("");
  assertive = $state("");
  #next = 1;
  #timers = new Map<number, ReturnType<typeof setTimeout>>();

  /** Says what was done, for 10 seconds, with its undo. */
  done(text: string, undo: (() => void) | null = null): void {
    this.#add({ text, hint: null, tone: "done", undo });
    this.say(text);
  }

  /** Says what did not work and the next step. */
  failed(what: string, why: Refusal): void {
    this.#add({ text: `${what}: ${why.message}`, hint: why.hint, tone: "failed", undo: null });
    this.alarm(`${what}: ${why.message}`);
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
      setTimeout(() => this.dismiss(id), STAYS_MS),
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
    this.toasts = [...this.toasts.slice(-2), { id, ...toast }];
    this.release(id);
  }
}

export const notices = new Notices();
