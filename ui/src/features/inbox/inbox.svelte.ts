// The inbox as the window holds it: four lists of the core, one set of sections, undoable marks.
import type { EntryView } from "../../api/generated/EntryView";
import type { InboxAction } from "../../api/generated/InboxAction";
import type { InboxFilter } from "../../api/generated/InboxFilter";
import type { InboxPage } from "../../api/generated/InboxPage";
import { call, type Refusal, refusal } from "../../host";
import { plain } from "../../lib/foreign";
import { count } from "../../lib/format";
import { SECTION_OF, type SectionId } from "../../lib/labels";
import { notices } from "../../lib/notices.svelte";
import { prefer, prefs } from "../../lib/prefs.svelte";
import { type Resource, resourceOf } from "../../lib/resource.svelte";
import { undoSteps } from "./undo";

const PAGE = 200;
const ORDER: SectionId[] = ["questions", "needs", "stuck", "incidents", "saved", "snoozed", "done"];
const FOLDS: SectionId[] = ["saved", "snoozed", "done"];

export type Section = { id: SectionId; entries: EntryView[]; total: number; folds: boolean };
export type Item =
  | { kind: "section"; section: Section; folded: boolean }
  | { kind: "entry"; entry: EntryView };
export type Mark = InboxAction["action"];

const WORD: Record<Mark, { done: string; failed: string }> = {
  done: { done: "Done", failed: "Not done" },
  reopen: { done: "Back in the inbox", failed: "Not put back" },
  read: { done: "Marked read", failed: "Not marked read" },
  unread: { done: "Marked unread", failed: "Not marked unread" },
  save: { done: "Saved", failed: "Not saved" },
  unsave: { done: "No longer saved", failed: "Still saved" },
  snooze: { done: "Snoozed", failed: "Not snoozed" },
};

/** What an entry looks like once an action has been done to it. */
export function marked(entry: EntryView, action: InboxAction): EntryView {
  switch (action.action) {
    case "done":
      return { ...entry, state: "done" };
    case "reopen":
      return { ...entry, state: "open", snoozeUntil: null };
    case "read":
      return { ...entry, read: true };
    case "unread":
      return { ...entry, read: false };
    case "save":
      return { ...entry, saved: true };
    case "unsave":
      return { ...entry, saved: false };
    case "snooze":
      return { ...entry, state: "snoozed", snoozeUntil: action.until };
  }
}

/** Which section an entry stands in. */
export function sectionOf(entry: EntryView): SectionId {
  if (entry.state === "snoozed") return "snoozed";
  if (entry.state === "done") return entry.saved ? "saved" : "done";
  return SECTION_OF[entry.kind];
}

async function load(filter: InboxFilter, query: string, want: number): Promise<InboxPage> {
  const page = (limit: number, after?: number): Promise<InboxPage> =>
    call("inbox_list", {
      filter,
      limit,
      ...(query === "" ? {} : { query }),
      ...(after === undefined ? {} : { after }),
    });
  let got = await page(Math.min(PAGE, want));
  const entries = [...got.entries];
  while (got.more && entries.length < want) {
    got = await page(PAGE, entries.at(-1)?.id);
    entries.push(...got.entries);
  }
  return { ...got, entries };
}

type Lists = Record<InboxFilter, Resource<InboxPage>>;

export class Inbox {
  query = $state("");
  /** How much of each list is wanted. */
  #wanted = $state<Record<InboxFilter, number>>({
    open: PAGE,
    saved: PAGE,
    snoozed: PAGE,
    done: PAGE,
  });
  #lists: Lists;
  /** What was done but is not yet read back. */
  #ahead = $state.raw<ReadonlyMap<number, EntryView>>(new Map());
  #seen: ReadonlySet<number> | null = null;
  selected = $state.raw<ReadonlySet<number>>(new Set());

  constructor() {
    const list = (filter: InboxFilter, want: () => number): Resource<InboxPage> =>
      resourceOf(
        () => ({ query: this.query.trim(), want: want() }),
        (key) => load(filter, key.query, key.want),
        (topic) => topic === "inbox",
        "keep",
      );
    const folded = (id: "saved" | "snoozed" | "done") => (): number =>
      this.isFolded(id) ? 1 : this.#wanted[id];
    this.#lists = {
      open: list("open", () => this.#wanted.open),
      saved: list("saved", folded("saved")),
      snoozed: list("snoozed", folded("snoozed")),
      done: list("done", folded("done")),
    };
    $effect(() => this.#announce(this.#lists.open.data));
  }

  /** Says what is new to who cannot see it arrive: incidents at once, the rest in its turn. */
  #announce(page: InboxPage | undefined): void {
    if (page === undefined || this.query.trim() !== "") return;
    const seen = this.#seen;
    this.#seen = new Set([...(seen ?? []), ...page.entries.map((entry) => entry.id)]);
    if (seen === null) return;
    for (const entry of page.entries) {
      if (seen.has(entry.id) || entry.read) continue;
      const words = `New: ${entry.chip} ${plain(entry.title)}`;
      if (entry.kind === "incident") notices.alarm(words);
      else notices.say(words);
    }
  }

  get error(): Refusal | null {
    return this.#lists.open.error;
  }
  get at(): number | null {
    return this.#lists.open.at;
  }
  /** Nothing has been read yet. */
  get waiting(): boolean {
    return this.#lists.open.data === undefined && this.#lists.open.error === null;
  }
  get readable(): boolean {
    return this.#lists.open.data !== undefined;
  }

  readonly entries: ReadonlyMap<number, EntryView> = $derived.by(() => {
    const all = new Map<number, EntryView>();
    for (const list of Object.values(this.#lists)) {
      for (const entry of list.data?.entries ?? []) all.set(entry.id, entry);
    }
    for (const [id, entry] of this.#ahead) if (all.has(id)) all.set(id, entry);
    return all;
  });

  readonly sections: Section[] = $derived.by(() => {
    const found = new Map<SectionId, EntryView[]>(ORDER.map((id) => [id, []]));
    for (const entry of this.entries.values()) found.get(sectionOf(entry))?.push(entry);
    // Questions wait longest first; everything else newest first.
    for (const [id, entries] of found) {
      entries.sort((a, b) =>
        id === "questions"
          ? a.createdAt.localeCompare(b.createdAt) || a.id - b.id
          : b.updatedAt.localeCompare(a.updatedAt) || b.id - a.id,
      );
    }
    const totals = this.#totals();
    return ORDER.map((id) => {
      const entries = found.get(id) ?? [];
      return { id, entries, total: totals.get(id) ?? 0, folds: FOLDS.includes(id) };
    }).filter((section) => section.total > 0);
  });

  readonly items: Item[] = $derived.by(() =>
    this.sections.flatMap((section): Item[] => {
      const folded = section.folds && this.isFolded(section.id);
      const head: Item = { kind: "section", section, folded };
      const rows = folded ? [] : section.entries;
      return [head, ...rows.map((entry): Item => ({ kind: "entry", entry }))];
    }),
  );

  /** How many each section has, as the core counts them and with what is on its way. */
  #totals(): Map<SectionId, number> {
    const totals = new Map<SectionId, number>();
    const add = (id: SectionId, count: number): void => {
      totals.set(id, (totals.get(id) ?? 0) + count);
    };
    for (const { kind, total } of this.#lists.open.data?.kinds ?? []) add(SECTION_OF[kind], total);
    const done = this.#lists.done.data;
    add("snoozed", this.#lists.snoozed.data?.total ?? 0);
    // Saved entries that are done stand in their own section.
    add("saved", done?.saved ?? 0);
    add("done", (done?.total ?? 0) - (done?.saved ?? 0));
    for (const list of Object.values(this.#lists)) {
      // A saved entry stands in two lists and is moved once.
      if (list === this.#lists.saved) continue;
      for (const entry of list.data?.entries ?? []) {
        const ahead = this.#ahead.get(entry.id);
        if (!ahead) continue;
        add(sectionOf(entry), -1);
        add(sectionOf(ahead), 1);
      }
    }
    return totals;
  }

  isFolded(id: SectionId): boolean {
    return !prefs.unfolded.includes(id) && this.query.trim() === "";
  }

  fold(id: SectionId): void {
    const unfolded = prefs.unfolded.includes(id)
      ? prefs.unfolded.filter((other) => other !== id)
      : [...prefs.unfolded, id];
    prefer({ unfolded });
  }

  /** The end of the list came into sight. */
  more(): void {
    for (const filter of Object.keys(this.#lists) as InboxFilter[]) {
      if (filter !== "open" && this.isFolded(filter)) continue;
      const page = this.#lists[filter].data;
      if (page?.more && page.entries.length >= this.#wanted[filter]) this.#wanted[filter] += PAGE;
    }
  }

  byTarget(target: string): EntryView | undefined {
    return [...this.entries.values()].find((entry) => entry.target === target);
  }

  select(id: number, on: "toggle" | "add"): void {
    const next = new Set(this.selected);
    if (on === "toggle" && next.has(id)) next.delete(id);
    else next.add(id);
    this.selected = next;
  }

  /** The selected entries that are still there. */
  readonly picked: EntryView[] = $derived(
    [...this.selected].flatMap((id) => this.entries.get(id) ?? []),
  );

  unselect(entries: EntryView[]): void {
    const gone = new Set(entries.map((entry) => entry.id));
    this.selected = new Set([...this.selected].filter((id) => !gone.has(id)));
  }

  clearSelection(): void {
    this.selected = new Set();
  }

  async refetch(): Promise<void> {
    await Promise.all(Object.values(this.#lists).map((list) => list.refetch()));
  }

  /** Does one thing to some entries; shows it at once, and takes it back when the core refuses. */
  async mark(
    entries: EntryView[],
    action: InboxAction,
    say: "aloud" | "quietly" = "aloud",
  ): Promise<void> {
    if (entries.length === 0) return;
    this.#move(entries.map((entry) => marked(entry, action)));
    const results = await Promise.allSettled(
      entries.map((entry) => call("inbox_mark", { id: entry.id, action })),
    );
    const done = entries.filter((_, i) => results[i]?.status === "fulfilled");
    const refused = results.find((result) => result.status === "rejected");
    this.#settle(entries.filter((_, i) => results[i]?.status === "rejected"));
    const words = WORD[action.action];
    if (refused) notices.failed(words.failed, refusal(refused.reason));
    if (done.length > 0 && say === "aloud") {
      const what =
        done.length === 1 ? plain(done[0]?.title ?? "") : count(done.length, "entry", "entries");
      const steps = results.flatMap((result) =>
        result.status === "fulfilled" && result.value.step !== null ? [result.value.step] : [],
      );
      // Where nothing changed there is nothing to take back.
      notices.done(`${words.done}: ${what}`, steps.length > 0 ? () => void this.undo(steps) : null);
    }
    await this.refetch();
    this.#settle(done);
  }

  /** Takes back exactly these steps. */
  async undo(steps: number[]): Promise<void> {
    await undoSteps(steps);
    await this.refetch();
  }

  /** Takes back the newest thing that is not taken back yet. */
  async undoLast(): Promise<void> {
    try {
      const undone = await call("inbox_undo", {});
      const title = undone.entry ? `: ${plain(undone.entry.title)}` : "";
      notices.done(undone.what === null ? "Nothing left to undo" : `Undone ${undone.what}${title}`);
    } catch (cause) {
      notices.failed("Not undone", refusal(cause));
    }
    await this.refetch();
  }

  #move(entries: EntryView[]): void {
    this.#ahead = new Map([...this.#ahead, ...entries.map((entry) => [entry.id, entry] as const)]);
  }

  #settle(entries: EntryView[]): void {
    const next = new Map(this.#ahead);
    for (const entry of entries) next.delete(entry.id);
    this.#ahead = next;
  }
}

/** Makes the inbox of a window; call while a component is being made. */
export function createInbox(): Inbox {
  return new Inbox();
}
