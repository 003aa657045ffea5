// The host inside the desktop window: the only importer of @tauri-apps.
import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";
import type { AccountView } from "../api/generated/AccountView";
import type { CommandName, Host, Request, Response, Stop } from "./types";
import { refusal } from "./types";

function hearing<T>(event: string, hear: (payload: T) => void): Stop {
  const stop = listen<T>(event, (heard) => hear(heard.payload));
  return () => {
    void stop.then((end) => end());
  };
}

export const tauriHost: Host = {
  async call<N extends CommandName>(name: N, request: Request<N>): Promise<Response<N>> {
    try {
      return await invoke<Response<N>>("call", { name, request });
    } catch (cause) {
      throw refusal(cause);
    }
  },
  onTopic: (hear) => hearing<{ topic: string }>("topic", (told) => hear(told.topic)),
  onOpen: (hear) => hearing<{ target: string }>("open", (told) => hear(told.target)),
  onDrop: (hear) =>
    hearing<{ paths: string[] }>("tauri://drag-drop", (dropped) => hear(dropped.paths)),
  pendingTarget: () => invoke<string | null>("pending_target"),
  copyText: (text) => invoke<void>("copy_text", { text }),
  pickFolder: () => invoke<string | null>("pick_folder"),
  canPickFolder: true,
  openExternal: (url) => invoke<void>("open_external", { url }),
  async copyHttpToken() {
    try {
      await invoke<void>("copy_http_token");
    } catch (cause) {
      throw refusal(cause);
    }
  },
  canCopyHttpToken: true,
  async signInFromClipboard(host) {
    try {
      return await invoke<AccountView>("sign_in", { host });
    } catch (cause) {
      throw refusal(cause);
    }
  },
  canSignIn: true,
};
