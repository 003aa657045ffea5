// Which host this window has. Components import from here only.
import { bridgeHost } from "./bridge";
import { tauriHost } from "./tauri";
import type { CommandName, Host, Request, Response, Stop } from "./types";

export type { CommandName, Host, Request, Response, Stop } from "./types";
export { Refusal, refusal } from "./types";

let current: Host = "__TAURI_INTERNALS__" in globalThis ? tauriHost : bridgeHost;

/** The host of this window. */
export function host(): Host {
  return current;
}

/** Gives the window another host; done once, before anything is mounted. */
export function useHost(other: Host): void {
  current = other;
}

/** Asks the core. */
export function call<N extends CommandName>(name: N, request: Request<N>): Promise<Response<N>> {
  return current.call(name, request);
}

const hearers = new Set<(topic: string) => void>();
let stopHearing: Stop | null = null;

/** Says that the window itself changed something; what shows it is fetched again at once. */
export function tellTopic(topic: string): void {
  for (const hear of [...hearers]) hear(topic);
}

/** Hears topics. The host is listened to once, however many views are on the screen. */
export function hearTopics(hear: (topic: string) => void): Stop {
  hearers.add(hear);
  stopHearing ??= current.onTopic(tellTopic);
  return () => {
    hearers.delete(hear);
    if (hearers.size > 0) return;
    stopHearing?.();
    stopHearing = null;
  };
}
