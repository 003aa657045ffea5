// What the person chose for this window; kept by the window, not by the config file.

export type Theme = "system" | "light" | "dark";
export type Palette = "standard" | "contrast" | "safe";

type Kept = {
  theme: Theme;
  palette: Palette;
  letterKeys: boolean;
  listWidth: number;
  lastHash: string;
  cursor: number | null;
  unfolded: string[];
  wrap: boolean;
  /** How a board is grouped where the engine follows it. */
  boardBy: "class" | "move";
  firstRunSkipped: string[];
};

const KEY = "steward.window";
const START: Kept = {
  theme: "system",
  palette: "standard",
  letterKeys: true,
  listWidth: 372,
  lastHash: "",
  cursor: null,
  unfolded: [],
  wrap: false,
  boardBy: "class",
  firstRunSkipped: [],
};

function read(): Kept {
  try {
    const kept: unknown = JSON.parse(globalThis.localStorage?.getItem(KEY) ?? "{}");
    return { ...START, ...(typeof kept === "object" ? kept : {}) };
  } catch {
    // A damaged note of window sizes is not worth a word to the person.
    return { ...START };
  }
}

/** Reads and writes as one object; each write is kept at once. */
export const prefs: Kept = $state(read());

/** Changes a preference and keeps it. */
export function prefer(change: Partial<Kept>): void {
  Object.assign(prefs, change);
  try {
    globalThis.localStorage?.setItem(KEY, JSON.stringify(prefs));
  } catch {
    // A full or forbidden storage loses the size of a pane, nothing else.
  }
}

/** Paints the chosen theme and palette, following the system where nothing is chosen. */
export function paintTheme(): void {
  const root = document.documentElement;
  const dark =
    prefs.theme === "dark" ||
    (prefs.theme === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  const contrast = prefs.palette === "standard" && matchMedia("(prefers-contrast: more)").matches;
  root.dataset["scheme"] = dark ? "dark" : "light";
  root.dataset["palette"] = contrast ? "contrast" : prefs.palette;
}

/** Paints again whenever the system changes its mind. */
export function followSystem(): void {
  paintTheme();
  for (const query of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) {
    matchMedia(query).addEventListener("change", paintTheme);
  }
}
