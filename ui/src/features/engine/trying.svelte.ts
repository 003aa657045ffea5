// Trying an item now: asked first where something may come of it outside, shown at once, taken back while it can be.
import type { ItemView } from "../../api/generated/ItemView";
import { call, refusal, tellTopic } from "../../host";
import { asking } from "../../lib/ask.svelte";
import { short } from "../../lib/format";
import { notices } from "../../lib/notices.svelte";

/** What a try may lead to, by the mode in force. */
export function tryNote(mode: string): string {
  switch (mode) {
    case "observe":
      return "A try reads it whole and judges it again. In observe nothing leaves this machine.";
    case "suggest":
      return "A try reads it whole and judges it again. An agent may work on it; what would go out waits in your inbox.";
    default:
      return "A try reads it whole and judges it again. An agent may work on it, and what acts by itself here goes out without asking once more.";
  }
}

export class Trying {
  /** Shown before the core has said so. */
  #ahead = $state.raw<string | null>(null);
  #taken = $state(false);
  busy = $state(false);

  /** When a try was asked for that no tick has fulfilled yet. */
  askedAt(item: ItemView): string | null {
    return this.#taken ? null : (item.askedAt ?? this.#ahead);
  }

  /** Asks for a try; false when the person turned away or the core refused. */
  async ask(item: ItemView, mode: string): Promise<boolean> {
    const name = `${item.repository}#${item.number}`;
    if (mode !== "observe") {
      const yes = await asking.ask({
        title: `Try ${name} now?`,
        body: tryNote(mode),
        facts: [
          { name: item.kind === "pull" ? "Pull request" : "Issue", value: `${name} ${item.title}` },
          ...(item.head === null ? [] : [{ name: "Commit", value: short(item.head), mono: true }]),
          { name: "Mode", value: mode },
        ],
        ok: "Try now",
      });
      if (!yes) return false;
    }
    this.busy = true;
    this.#taken = false;
    this.#ahead = new Date().toISOString();
    try {
      await call("item_try", { item: name });
      notices.done("Asked for. The next tick takes it up.", () => void this.takeBack(item));
      return true;
    } catch (cause) {
      notices.failed("Not tried", refusal(cause));
      return false;
    } finally {
      this.busy = false;
      tellTopic("engine");
    }
  }

  /** Takes the call back, as long as no tick has begun. */
  async takeBack(item: ItemView): Promise<void> {
    this.#taken = true;
    try {
      await call("item_try_undo", { item: `${item.repository}#${item.number}` });
      this.#ahead = null;
      notices.say("Taken back");
    } catch (cause) {
      notices.failed("Not taken back", refusal(cause));
    } finally {
      this.#taken = false;
      tellTopic("engine");
    }
  }

  /** What the core says counts from now on. */
  settle(): void {
    if (!this.busy) this.#ahead = null;
  }
}
