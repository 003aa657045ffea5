// Where the window is: `#/review/7`, the same words as `steward://review/7`.

export type Page = "inbox" | "tasks" | "settings";
export const SETTINGS = ["workspaces", "reviews", "appearance", "config", "diagnostics"] as const;
export type SettingsSection = (typeof SETTINGS)[number];

export type Route =
  | { page: "inbox"; review: number | null }
  | { page: "tasks"; task: number | null; review: number | null }
  | { page: "settings"; section: SettingsSection | null };

/** Reads a target or a hash; what it does not know leads to the inbox. */
export function parse(target: string): Route {
  const words = target
    .replace(/^steward:\/\//, "")
    .replace(/^#?\/?/, "")
    .replace(/[?#].*$/, "")
    .split("/")
    .filter((word) => word !== "");
  const id = (word: string | undefined): number | null =>
    word !== undefined && /^[1-9]\d{0,9}$/.test(word) ? Number(word) : null;
  switch (words[0]) {
    case "review":
      return { page: "inbox", review: id(words[1]) };
    case "tasks":
      return { page: "tasks", task: null, review: null };
    case "task":
      return {
        page: "tasks",
        task: id(words[1]),
        review: words[2] === "review" ? id(words[3]) : null,
      };
    case "settings": {
      const section = SETTINGS.find((known) => known === words[1]) ?? null;
      return { page: "settings", section };
    }
    default:
      return { page: "inbox", review: null };
  }
}

/** Writes a route as a hash. */
export function hash(route: Route): string {
  switch (route.page) {
    case "inbox":
      return route.review === null ? "#/inbox" : `#/review/${route.review}`;
    case "tasks":
      if (route.task === null) return "#/tasks";
      return route.review === null
        ? `#/task/${route.task}`
        : `#/task/${route.task}/review/${route.review}`;
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
