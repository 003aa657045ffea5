// A host whose answers a test writes down: the port's far side, not a part of the window.
import type { AccountView } from "../api/generated/AccountView";
import type { Commands } from "../api/generated/commands";
import type { CommandName, Host, Request, Response } from "../host";
import { useHost } from "../host";

export type Answers = {
  [N in CommandName]?: (request: Commands[N]["request"]) => Commands[N]["response"];
};

export type Script = {
  /** Every call that was made, in order. */
  calls: { name: CommandName; request: unknown }[];
  copied: string[];
  /** How often the token of the HTTP door was put on the clipboard. */
  tokensCopied: number;
  /** Pages opened in the browser. */
  opened: string[];
  /** Hosts that were signed in to from the clipboard. */
  signedIn: string[];
  signIn: ((host: string) => AccountView) | null;
  answers: Answers;
  /** Says a topic, as the core would. */
  say(topic: string): void;
  asked(name: CommandName): unknown[];
};

/** Puts a scripted host in place for one test. */
export function script(answers: Answers): Script {
  const hearers = new Set<(topic: string) => void>();
  const made: Script = {
    calls: [],
    copied: [],
    tokensCopied: 0,
    opened: [],
    signedIn: [],
    signIn: null,
    answers,
    say: (topic) => {
      for (const hear of [...hearers]) hear(topic);
    },
    asked: (name) => made.calls.filter((call) => call.name === name).map((call) => call.request),
  };
  const host: Host = {
    async call<N extends CommandName>(name: N, request: Request<N>): Promise<Response<N>> {
      made.calls.push({ name, request });
      const answer = made.answers[name] as ((request: Request<N>) => Response<N>) | undefined;
      if (!answer) throw new Error(`this test did not expect ${name}`);
      return answer(request);
    },
    onTopic(hear) {
      hearers.add(hear);
      return () => hearers.delete(hear);
    },
    onOpen: () => () => {},
    onDrop: () => () => {},
    pendingTarget: async () => null,
    async copyText(text) {
      made.copied.push(text);
    },
    pickFolder: async () => null,
    canPickFolder: false,
    async openExternal(url) {
      made.opened.push(url);
    },
    async copyHttpToken() {
      made.tokensCopied += 1;
    },
    canCopyHttpToken: true,
    async signInFromClipboard(wanted) {
      made.signedIn.push(wanted);
      if (!made.signIn) throw new Error("this test did not expect a sign-in");
      return made.signIn(wanted);
    },
    canSignIn: true,
  };
  useHost(host);
  return made;
}
