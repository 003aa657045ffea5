// The one port between the window and the core.
import type { AccountView } from "../api/generated/AccountView";
import type { ApiError } from "../api/generated/ApiError";
import type { Commands } from "../api/generated/commands";

export type CommandName = keyof Commands;
export type Request<N extends CommandName> = Commands[N]["request"];
export type Response<N extends CommandName> = Commands[N]["response"];
export type Stop = () => void;

export interface Host {
  /** Asks the core; rejects with a `Refusal`. */
  call<N extends CommandName>(name: N, request: Request<N>): Promise<Response<N>>;
  /** Hears which views changed. Topics carry words only; the data is fetched again. */
  onTopic(hear: (topic: string) => void): Stop;
  /** Hears where a notification, the tray or a deep link wants to go. */
  onOpen(hear: (target: string) => void): Stop;
  /** Hears the paths of files dropped on the window, where the system tells them. */
  onDrop(hear: (paths: string[]) => void): Stop;
  /** The target that waited for this window, if one did. */
  pendingTarget(): Promise<string | null>;
  copyText(text: string): Promise<void>;
  /** Null: the person chose nothing, or this host has no picker. */
  pickFolder(): Promise<string | null>;
  readonly canPickFolder: boolean;
  openExternal(url: string): Promise<void>;
  /** Puts the token of the HTTP door on the clipboard, which the shell reads; no window holds it. */
  copyHttpToken(): Promise<void>;
  readonly canCopyHttpToken: boolean;
  /** Signs in with the token on the clipboard, which the shell reads; no window holds it. */
  signInFromClipboard(host: string): Promise<AccountView>;
  readonly canSignIn: boolean;
}

/** A refused call: the core's own words, as an Error that can be thrown. */
export class Refusal extends Error {
  readonly code: ApiError["code"];
  readonly hint: string | null;
  constructor(error: ApiError) {
    super(error.message);
    this.name = "Refusal";
    this.code = error.code;
    this.hint = error.hint;
  }
}

/** Turns whatever a transport rejected with into a refusal. */
export function refusal(cause: unknown): Refusal {
  if (cause instanceof Refusal) return cause;
  if (typeof cause === "object" && cause !== null && "code" in cause && "message" in cause) {
    return new Refusal(cause as ApiError);
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return new Refusal({ code: "internal", message, hint: null });
}
