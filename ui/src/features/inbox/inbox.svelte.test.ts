import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EntryView } from "../../api/generated/EntryView";
import { Refusal } from "../../host";
import { notices } from "../../lib/notices.svelte";
import { prefer } from "../../lib/prefs.svelte";
import { type Script, script } from "../../testing/host";
import { entry, inboxPage } from "../../testing/views";
import { Inbox, marked } from "./inbox.svelte";

let kept: EntryView[];
let host: Script;
let inbox: Inbox;
let end: () => void;

const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 5));

beforeEach(async () => {
  prefer({ unfolded: [] });
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  kept = [
    entry(1, { updatedAt: "2026-03-01T10:00:00Z" }),
    entry(2, { updatedAt: "2026-03-01T12:00:00Z" }),
    entry(3, { kind: "incident", chip: "INCIDENT" }),
    entry(4, { state: "snoozed", snoozeUntil: "2026-04-01T00:00:00Z" }),
    entry(5, { state: "done" }),
  ];
  host = script({
    inbox_list: ({ filter, limit, after }) => {
      const all = kept.filter((one) => (filter === "saved" ? one.saved : one.state === filter));
      const from = after === undefined ? 0 : all.findIndex((one) => one.id === after) + 1;
      return inboxPage(all.slice(from, from + limit), all, from + limit < all.length);
    },
    inbox_mark: ({ id, action }) => {
      const at = kept.findIndex((one) => one.id === id);
      const next = marked(kept[at] as EntryView, action);
      const changed = JSON.stringify(next) !== JSON.stringify(kept[at]);
      kept[at] = next;
      return { entry: next, step: changed ? 100 + id : null };
    },
    inbox_undo: () => ({ entry: null, what: null }),
  });
  end = $effect.root(() => {
    inbox = new Inbox();
  });
  flushSync();
  await settle();
});
afterEach(() => end());

const shown = (): string[] =>
  inbox.items.map((item) =>
    item.kind === "section" ? `${item.section.id} ${item.section.total}` : String(item.entry.id),
  );

describe("the inbox", () => {
  test("stands in sections by whose move it is, newest first, the rest folded", () => {
    expect(shown()).toEqual(["needs 2", "2", "1", "incidents 1", "3", "snoozed 1", "done 1"]);
  });

  test("questions stand first, the one that waits longest above, whatever happened to it since", async () => {
    const asked = { kind: "question", chip: "NEED" } as const;
    kept.push(
      entry(11, { ...asked, createdAt: "2026-03-01T09:00:00Z" }),
      entry(10, {
        ...asked,
        chip: "UNDELIVERED",
        createdAt: "2026-03-01T08:00:00Z",
        updatedAt: "2026-03-01T12:30:00Z",
      }),
    );
    host.say("inbox");
    await settle();
    expect(shown().slice(0, 4)).toEqual(["questions 2", "10", "11", "needs 2"]);
  });

  test("unfolding a section shows its entries", async () => {
    inbox.fold("done");
    flushSync();
    await settle();
    expect(shown().slice(-2)).toEqual(["done 1", "5"]);
  });

  test("an entry leaves at once when it is done, before the core has answered", async () => {
    const marking = inbox.mark([kept[0] as EntryView], { action: "done" });
    expect(shown()).toEqual(["needs 1", "2", "incidents 1", "3", "snoozed 1", "done 2"]);
    await marking;
    expect(notices.toasts.at(-1)?.text).toBe("Done: Entry 1");
    expect(shown()).not.toContain("1");
  });

  test("a refused mark flips the row back and says why", async () => {
    host.answers.inbox_mark = () => {
      throw new Refusal({ code: "read_only", message: "the database is read-only", hint: null });
    };
    const marking = inbox.mark([kept[0] as EntryView], { action: "done" });
    expect(shown()).not.toContain("1");
    await marking;
    expect(shown()).toContain("1");
    expect(notices.toasts.at(-1)?.tone).toBe("failed");
    expect(notices.toasts.at(-1)?.text).toContain("the database is read-only");
    expect(notices.assertive).toContain("the database is read-only");
  });

  test("of several entries only the refused ones come back", async () => {
    const mark = host.answers.inbox_mark;
    host.answers.inbox_mark = (request) => {
      if (request.id === 2) throw new Refusal({ code: "store", message: "locked", hint: null });
      if (!mark) throw new Error("BUG: set above");
      return mark(request);
    };
    await inbox.mark(kept.slice(0, 2), { action: "done" });
    expect(shown()).toContain("2");
    expect(shown()).not.toContain("1");
  });

  test("undo of a toast takes back its own steps, and none where nothing changed", async () => {
    await inbox.mark([kept[0] as EntryView, kept[4] as EntryView], { action: "done" });
    notices.toasts.at(-1)?.undo?.();
    await settle();
    expect(host.asked("inbox_undo")).toEqual([{ step: 101 }]);
    await inbox.mark([kept[4] as EntryView], { action: "done" });
    expect(notices.toasts.at(-1)?.undo).toBeNull();
  });

  test("an undo that is refused says why", async () => {
    await inbox.mark([kept[0] as EntryView], { action: "done" });
    host.answers.inbox_undo = () => {
      throw new Refusal({
        code: "refused",
        message: "it was changed again since (saved); undo that first",
        hint: null,
      });
    };
    notices.toasts.at(-1)?.undo?.();
    await settle();
    expect(notices.toasts.at(-1)?.text).toContain("changed again since");
  });

  test("a section counts what the core has, not what is loaded", async () => {
    kept = [
      ...Array.from({ length: 450 }, (_, i) => entry(i + 1)),
      ...Array.from({ length: 3 }, (_, i) => entry(500 + i, { state: "done", saved: i === 0 })),
    ];
    host.say("inbox");
    await settle();
    expect(shown().filter((one) => one.includes(" "))).toEqual(["needs 450", "saved 1", "done 2"]);
    const marking = inbox.mark([kept[0] as EntryView], { action: "done" });
    expect(shown().filter((one) => one.includes(" "))).toEqual(["needs 449", "saved 1", "done 3"]);
    await marking;
  });

  test("reading a row is not announced", async () => {
    await inbox.mark([kept[0] as EntryView], { action: "read" }, "quietly");
    expect(notices.toasts).toEqual([]);
    expect(inbox.entries.get(1)?.read).toBe(true);
  });

  test("a long inbox is read page by page until it has what it wants", async () => {
    kept = Array.from({ length: 450 }, (_, i) => entry(i + 1));
    host.say("inbox");
    await settle();
    expect(inbox.entries.size).toBe(200);
    inbox.more();
    flushSync();
    await settle();
    expect(inbox.entries.size).toBe(400);
    expect(host.asked("inbox_list")).toContainEqual({ filter: "open", limit: 200, after: 200 });
  });
});

describe("a long section", () => {
  test.each(["done", "snoozed", "saved"] as const)(
    "that is %s is read to its end when it is unfolded, also with nothing open",
    async (which) => {
      kept = Array.from({ length: 450 }, (_, i) =>
        entry(i + 1, {
          state: which === "snoozed" ? "snoozed" : "done",
          snoozeUntil: which === "snoozed" ? "2026-04-01T00:00:00Z" : null,
          saved: which === "saved",
        }),
      );
      host.say("inbox");
      inbox.fold(which);
      flushSync();
      await settle();
      const rows = (): number => inbox.items.filter((item) => item.kind === "entry").length;
      expect(rows()).toBe(200);
      for (const then of [400, 450, 450]) {
        inbox.more();
        flushSync();
        await settle();
        expect(rows()).toBe(then);
      }
    },
  );
});

describe("what arrives", () => {
  test("is said politely, an incident at once, and what was there before is not said", async () => {
    notices.say("");
    notices.alarm("");
    host.say("inbox");
    await settle();
    expect([notices.polite, notices.assertive]).toEqual(["", ""]);
    kept.push(
      entry(9, { title: "Fresh" }),
      entry(10, { kind: "incident", chip: "INCIDENT", title: "Fire" }),
    );
    host.say("inbox");
    await settle();
    flushSync();
    expect(notices.polite).toBe("New: CHANGES Fresh");
    expect(notices.assertive).toBe("New: INCIDENT Fire");
  });
});
