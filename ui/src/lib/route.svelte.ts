// Where the window is: `#/review/7`, the same words as `steward://review/7`.

export type Page = "inbox" | "tasks" | "repositories" | "roster" | "settings";
export const SETTINGS = [
  "accounts",
  "workspaces",
  "reviews",
  "powers",
  "appearance",
  "config",
  "diagnostics",
] as const;
export type SettingsSection = (typeof SETTINGS)[number];

/** What the inbox shows beside its list. */
export type Opened =
  | { kind: "review"; id: number }
  | { kind: "effect"; id: number }
  | { kind: "question"; id: number }
  /** What is wrong with the roster: of a member, `agent@host`, or of all of it. */
  | { kind: "roster"; of: string }
  | ItemOpened
  | { kind: "powers" };
/** What the engine follows and wants somebody for. */
export type ItemOpened = { kind: "item"; repo: string; of: "pr" | "issue"; number: number };

export type Route =
  | { page: "inbox"; open: Opened | null }
  | { page: "tasks"; task: number | null; review: number | null }
  | { page: "repositories"; repo: string | null; pull: number | null; review: number | null }
  /** A member is named `agent@host`. */
  | { page: "roster"; member: string | null }
  | { page: "settings"; section: SettingsSection | null };

const INBOX: Route = { page: "inbox", open: null };
export const REPOSITORIES: Route = { page: "repositories", repo: null, pull: null, review: null };
export const ROSTER: Route = { page: "roster", member: null };

/** A number as an address writes it; anything else names nothing. */
function id(word: string | undefined): number | null {
  return word !== undefined && /^[1-9]\d{0,9}$/.test(word) ? Number(word) : null;
}

/** A repository in two words of an address, or nothing. */
function repository(owner: string | undefined, name: string | undefined): string | null {
  const fits = (word: string | undefined): word is string =>
    word !== undefined && /^[\w.-]{1,100}$/.test(word) && word !== "." && word !== "..";
  return fits(owner) && fits(name) ? `${owner}/${name}` : null;
}

/** An item as its entry names it, `pr-12` or `issue-9`. */
function item(repo: string | null, word: string | undefined): ItemOpened | null {
  const [, of, number] = /^(pr|issue)-([1-9]\d{0,9})$/.exec(word ?? "") ?? [];
  if (repo === null || number === undefined) return null;
  return { kind: "item", repo, of: of === "pr" ? "pr" : "issue", number: Number(number) };
}

/** What follows the first words of an address as one name; the core writes it plainly, a hash encoded. */
function rest(words: string[]): string | null {
  const text = words.join("/");
  try {
    return decodeURIComponent(text) || null;
  } catch {
    return text;
  }
}

/** Reads a target or a hash; what it does not know leads to the inbox. */
export function parse(target: string): Route {
  const words = target
    .replace(/^steward:\/\//, "")
    .replace(/^#?\/?/, "")
    .replace(/[?#].*$/, "")
    .split("/")
    .filter((word) => word !== "");
  switch (words[0]) {
    case "review": {
      const review = id(words[1]);
      return review === null ? INBOX : { page: "inbox", open: { kind: "review", id: review } };
    }
    case "effect": {
      const effect = id(words[1]);
      return effect === null ? INBOX : { page: "inbox", open: { kind: "effect", id: effect } };
    }
    case "question": {
      const need = id(words[1]);
      return need === null ? INBOX : { page: "inbox", open: { kind: "question", id: need } };
    }
    case "inbox": {
      if (words[1] === "powers") return { page: "inbox", open: { kind: "powers" } };
      if (words[1] === "item") {
        return { page: "inbox", open: item(repository(words[2], words[3]), words[4]) };
      }
      const of = words[1] === "roster" ? rest(words.slice(2)) : null;
      return of === null ? INBOX : { page: "inbox", open: { kind: "roster", of } };
    }
    case "roster":
    case "questions": {
      const member = rest(words.slice(1));
      return member?.includes("@") ? { page: "roster", member } : ROSTER;
    }
    case "tasks":
      return { page: "tasks", task: null, review: null };
    case "task":
      return {
        page: "tasks",
        task: id(words[1]),
        review: words[2] === "review" ? id(words[3]) : null,
      };
    case "repositories":
      return REPOSITORIES;
    case "repository": {
      const repo = repository(words[1], words[2]);
      // What wants somebody names its item beside its repository, and has a card of its own.
      const wanted = item(repo, /\?item=([\w-]+)$/.exec(target)?.[1]);
      if (wanted !== null) return { page: "inbox", open: wanted };
      const pull = repo === null || words[3] !== "pull" ? null : id(words[4]);
      const review = pull !== null && words[5] === "review" ? id(words[6]) : null;
      return { page: "repositories", repo, pull, review };
    }
    case "pr": {
      const repo = repository(words[1], words[2]);
      return {
        page: "repositories",
        repo,
        pull: repo === null ? null : id(words[3]),
        review: null,
      };
    }
    case "settings": {
      const section = SETTINGS.find((known) => known === words[1]) ?? null;
      return { page: "settings", section };
    }
    default:
      return INBOX;
  }
}

/** Where an entry of the inbox opens: beside the list where the inbox can show it. */
export function parseEntry(target: string): Route {
  const to = parse(target);
  if (target.startsWith("roster/")) {
    return { page: "inbox", open: { kind: "roster", of: target.slice("roster/".length) } };
  }
  return to.page === "settings" && to.section === "powers"
    ? { page: "inbox", open: { kind: "powers" } }
    : to;
}

/** The target of what the inbox shows, in the words of its entries. */
export function entryTarget(open: Opened): string {
  if (open.kind === "powers") return "settings/powers";
  if (open.kind === "item") return `repository/${open.repo}?item=${open.of}-${open.number}`;
  return open.kind === "roster" ? `roster/${open.of}` : `${open.kind}/${open.id}`;
}

/** Writes a route as a hash. */
export function hash(route: Route): string {
  switch (route.page) {
    case "inbox":
      if (route.open === null) return "#/inbox";
      if (route.open.kind === "powers") return "#/inbox/powers";
      if (route.open.kind === "item") {
        return `#/inbox/item/${route.open.repo}/${route.open.of}-${route.open.number}`;
      }
      return route.open.kind === "roster"
        ? `#/inbox/roster/${encodeURIComponent(route.open.of)}`
        : `#/${route.open.kind}/${route.open.id}`;
    case "tasks":
      if (route.task === null) return "#/tasks";
      return route.review === null
        ? `#/task/${route.task}`
        : `#/task/${route.task}/review/${route.review}`;
    case "repositories": {
      if (route.repo === null) return "#/repositories";
      const pull = route.pull === null ? "" : `/pull/${route.pull}`;
      const review = route.pull === null || route.review === null ? "" : `/review/${route.review}`;
      return `#/repository/${route.repo}${pull}${review}`;
    }
    case "roster":
      return route.member === null ? "#/roster" : `#/roster/${encodeURIComponent(route.member)}`;
    case "settings":
      return route.section === null ? "#/settings" : `#/settings/${route.section}`;
  }
}

class Router {
  #at = $state.raw<Route>(parse(globalThis.location?.hash ?? ""));

  constructor() {
    globalThis.addEventListener?.("hashchange", () => {
      this.#at = parse(location.hash);
    });
  }

  get at(): Route {
    return this.#at;
  }

  /** Goes there; Back leads back here. */
  go(to: Route): void {
    this.#at = to;
    if (location.hash !== hash(to)) location.hash = hash(to);
  }

  /** Shows it without a step in the history: a preview. */
  show(to: Route): void {
    this.#at = to;
    history.replaceState(null, "", hash(to));
  }
}

export const router = new Router();
