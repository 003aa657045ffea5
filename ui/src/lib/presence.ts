// Whether what asked for something is still there when the answer comes.
import { onDestroy } from "svelte";
import type { Refusal } from "../host";
import { notices } from "./notices.svelte";

/** What an answer may still do in the component that asked; made while that is made. */
export interface Presence {
  /** Does it, unless the component has gone: what is open by then is another thing. */
  still(act: () => void): void;
  /** Shows a refusal where it was asked for, or in passing when nobody sees that any more. */
  refused(what: string, why: Refusal, show: (why: Refusal) => void): void;
}

export function presence(): Presence {
  let gone = false;
  onDestroy(() => {
    gone = true;
  });
  return {
    still(act) {
      if (!gone) act();
    },
    refused(what, why, show) {
      if (gone) notices.failed(what, why);
      else show(why);
    },
  };
}
