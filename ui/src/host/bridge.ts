// The host in a plain browser: the same commands over HTTP on the page's own origin.
import type { CommandName, Host, Request, Response } from "./types";
import { Refusal, refusal } from "./types";

export const bridgeHost: Host = {
  async call<N extends CommandName>(name: N, request: Request<N>): Promise<Response<N>> {
    let answer: globalThis.Response;
    try {
      answer = await fetch(`/call/${name}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
    } catch {
      throw new Refusal({
        code: "internal",
        message: "the bridge does not answer",
        hint: "start it again, then reload",
      });
    }
    const body: unknown = await answer.json();
    if (!answer.ok) throw refusal(body);
    return body as Response<N>;
  },
  onTopic(hear) {
    const source = new EventSource("/topics");
    source.onmessage = (event: MessageEvent<string>) => hear(event.data);
    return () => source.close();
  },
  onOpen: () => () => {},
  onDrop: () => () => {},
  pendingTarget: async () => null,
  copyText: (text) => navigator.clipboard.writeText(text),
  pickFolder: async () => null,
  canPickFolder: false,
  async openExternal(url) {
    window.open(url, "_blank", "noopener,noreferrer");
  },
  async copyHttpToken() {
    throw new Refusal({
      code: "refused",
      message: "a page in a browser is given no token",
      hint: "read the file `http-token` in the data folder",
    });
  },
  canCopyHttpToken: false,
  async signInFromClipboard() {
    throw new Refusal({
      code: "refused",
      message: "a page in a browser takes no token",
      hint: "run `steward auth login` in a terminal",
    });
  },
  canSignIn: false,
};
