// Every key of the window, once: one letter means one thing everywhere.
import { prefs } from "./prefs.svelte";

export const KEYS = {
  down: { keys: "j", label: "Next", group: "Move" },
  up: { keys: "k", label: "Previous", group: "Move" },
  first: { keys: "g g", label: "First", group: "Move" },
  last: { keys: "Shift+G", label: "Last", group: "Move" },
  previousSection: { keys: "[", label: "Previous section", group: "Move" },
  nextSection: { keys: "]", label: "Next section", group: "Move" },
  open: { keys: "Enter", label: "Open", group: "Move" },
  openToo: { keys: "o", label: "Open", group: "Move" },
  browser: { keys: "Shift+O", label: "Open in the browser", group: "Move" },
  back: { keys: "Escape", label: "Back", group: "Move" },
  select: { keys: "x", label: "Select", group: "Entries" },
  extendDown: { keys: "Shift+J", label: "Extend the selection down", group: "Entries" },
  extendUp: { keys: "Shift+K", label: "Extend the selection up", group: "Entries" },
  done: { keys: "e", label: "Done", group: "Entries" },
  read: { keys: "Shift+I", label: "Mark read", group: "Entries" },
  unread: { keys: "Shift+U", label: "Mark unread", group: "Entries" },
  save: { keys: "s", label: "Save", group: "Entries" },
  snooze: { keys: "h", label: "Snooze", group: "Entries" },
  undo: { keys: "Mod+Z", label: "Undo", group: "Entries" },
  answer: { keys: "a", label: "Answer", group: "Entries" },
  copy: { keys: "c", label: "Copy findings", group: "Review" },
  review: { keys: "Shift+R", label: "Review, or review again", group: "Review" },
  send: { keys: "Mod+Enter", label: "Send", group: "Entries" },
  dismiss: { keys: "d", label: "Dismiss what is suggested", group: "GitHub" },
  tryNow: { keys: "t", label: "Try a stuck item now", group: "GitHub" },
  mode: { keys: "m", label: "Mode of the repository", group: "GitHub" },
  look: { keys: "r", label: "Look now: at GitHub, or at the panes", group: "Window" },
  search: { keys: "/", label: "Search the list", group: "Window" },
  sheet: { keys: "?", label: "This sheet", group: "Window" },
  palette: { keys: "Mod+K", label: "Command palette", group: "Window" },
  settings: { keys: "Mod+,", label: "Settings", group: "Window" },
  page1: { keys: "1", label: "Inbox", group: "Window" },
  page2: { keys: "2", label: "Tasks", group: "Window" },
  page3: { keys: "3", label: "Repositories", group: "Window" },
  page5: { keys: "5", label: "Questions", group: "Window" },
  page8: { keys: "8", label: "Settings", group: "Window" },
} as const satisfies Record<string, { keys: string; label: string; group: string }>;

export type ActionId = keyof typeof KEYS;
export type Handlers = Partial<Record<ActionId, () => void>>;

const APPLE = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? "");
const SYMBOL: Record<string, string> = {
  Shift: "⇧",
  Mod: APPLE ? "⌘" : "Ctrl ",
  Enter: "↵",
  Escape: "Esc",
};

/** A key as it is shown: `⇧R`, `Ctrl K`. */
export function keyText(keys: string): string {
  return keys
    .split(" ")
    .map((stroke) =>
      stroke
        .split("+")
        .map(
          (part) =>
            SYMBOL[part] ?? (part.length === 1 && keys.includes("+") ? part.toUpperCase() : part),
        )
        .join(""),
    )
    .join(" ");
}

/** A key as `aria-keyshortcuts` wants it. */
export function keyAria(keys: string): string {
  return keys.replace("Mod", APPLE ? "Meta" : "Control");
}

/** The stroke of an event in the words of the table. */
export function stroke(event: KeyboardEvent): string {
  const mod = APPLE ? event.metaKey : event.ctrlKey;
  const letter = /^[a-z]$/i.test(event.key);
  const key = letter ? event.key.toUpperCase() : event.key;
  if (mod) return `Mod+${event.shiftKey && letter ? "Shift+" : ""}${key}`;
  if (letter) return event.shiftKey ? `Shift+${key}` : event.key.toLowerCase();
  return key;
}

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Enter on a control is the control's own. */
function ownsEnter(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest("button, a, summary, [role=menuitem]") !== null
  );
}

const SEQUENCE_MS = 900;
const scopes: Handlers[] = [];
let prefix: { stroke: string; at: number } | null = null;

/** Hears keys until stopped; the newest hearer of an action gets it. */
export function hearKeys(handlers: Handlers): () => void {
  scopes.push(handlers);
  return () => {
    scopes.splice(scopes.indexOf(handlers), 1);
  };
}

function actionOf(keys: string): ActionId | undefined {
  return (Object.keys(KEYS) as ActionId[]).find((id) => KEYS[id].keys === keys);
}

/** Runs the action of a key press, if somebody hears it. */
export function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const now = stroke(event);
  const commanding = now.startsWith("Mod+");
  if (document.querySelector("dialog[open]")) return;
  if (typing(event.target) && (!commanding || now === "Mod+Z") && now !== "Escape") return;
  if (now === "Enter" && ownsEnter(event.target)) return;
  if (!commanding && now.length <= 7 && now !== "Enter" && now !== "Escape" && !prefs.letterKeys) {
    return;
  }
  const sequence =
    prefix && event.timeStamp - prefix.at < SEQUENCE_MS ? `${prefix.stroke} ${now}` : null;
  const id = (sequence && actionOf(sequence)) || actionOf(now);
  prefix = null;
  if (!id) {
    const starts = Object.values(KEYS).some((known) => known.keys.startsWith(`${now} `));
    if (starts) prefix = { stroke: now, at: event.timeStamp };
    return;
  }
  const hearer = scopes.findLast((scope) => scope[id]);
  if (!hearer) return;
  event.preventDefault();
  hearer[id]?.();
}
