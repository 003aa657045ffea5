import { fireEvent, render, screen, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import App from "./App.svelte";
import type { EntryView } from "./api/generated/EntryView";
import type { Status } from "./api/generated/Status";
import { marked } from "./features/inbox/inbox.svelte";
import { Refusal } from "./host";
import { notices } from "./lib/notices.svelte";
import { prefer } from "./lib/prefs.svelte";
import { router } from "./lib/route.svelte";
import { shell } from "./shell/shell.svelte";
import { type Script, script } from "./testing/host";
import { AT, entry, inboxPage, observer, review, status } from "./testing/views";

let kept: EntryView[];
let host: Script;

const STATUS = status();

beforeEach(() => {
  prefer({ cursor: null, unfolded: [], lastHash: "", firstRunSkipped: [] });
  Object.assign(shell, { drawer: false, sheet: false, palette: false });
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  router.show({ page: "inbox", open: null });
  kept = [entry(2), entry(1)];
  host = script({
    status: () => STATUS,
    inbox_list: ({ filter }) => {
      return inboxPage(
        kept.filter((one) => (filter === "saved" ? one.saved : one.state === filter)),
      );
    },
    inbox_mark: ({ id, action }) => {
      const at = kept.findIndex((one) => one.id === id);
      kept[at] = marked(kept[at] as EntryView, action);
      return { entry: kept[at] as EntryView, step: 40 + id };
    },
    inbox_undo: () => ({ entry: kept[0] as EntryView, what: "done" }),
    review_show: ({ id }) => review({ id }),
    task_list: () => ({ tasks: [] }),
    workspace_list: () => ({ workspaces: [] }),
    repository_list: () => ({ repositories: [], observer: observer({ state: "off" }) }),
    account_list: () => ({ accounts: [], gh: [], keyring: null, budgets: [] }),
    agent_report: () => {
      throw new Error("no agent");
    },
  });
});

async function type(key: string, how: KeyboardEventInit = {}): Promise<void> {
  await fireEvent.keyDown(document.activeElement ?? document.body, { key, ...how });
}

async function inbox(): Promise<void> {
  render(App);
  await screen.findByTestId("entry-2");
}

describe("the window", () => {
  test("has only pages that show something", async () => {
    await inbox();
    const nav = within(screen.getByRole("navigation", { name: "Pages" }));
    expect(nav.getAllByRole("link").map((link) => link.dataset.testid)).toEqual([
      "nav-inbox",
      "nav-tasks",
      "nav-repositories",
      "nav-roster",
      "nav-settings",
    ]);
  });

  test("names the runtime, what is held and what was spent", async () => {
    await inbox();
    const foot = screen.getByRole("region", { name: "Runtime" }).textContent ?? "";
    for (const words of ["Running", "2 reviews held", "$2.14 of $10 today"])
      expect(foot).toContain(words);
  });

  test.each([
    ["paused", { state: "paused", paused: { why: "lunch", since: AT } }, ["Paused", "lunch"]],
    [
      "degraded",
      {
        state: "degraded",
        reasons: [{ code: "git", message: "git is too old", hint: "install 2.41" }],
      },
      ["Degraded", "git is too old", "install 2.41"],
    ],
    [
      "read-only",
      {
        state: "read_only",
        reasons: [{ code: "read_only", message: "a newer schema", hint: null }],
      },
      ["Read-only", "a newer schema"],
    ],
    [
      "over the cap",
      { spend: { ...STATUS.spend, exhausted: true } },
      ["nothing that costs money starts"],
    ],
  ] as [string, Partial<Status>, string[]][])("says why it is %s", async (_, change, words) => {
    host.answers.status = () => ({ ...STATUS, ...change });
    await inbox();
    const foot = screen.getByRole("region", { name: "Runtime" });
    await vi.waitFor(() => {
      for (const word of words) expect(foot.textContent).toContain(word);
    });
  });

  test("says every reason, also several of one kind", async () => {
    const reason = (message: string) => ({ code: "config_warning", message, hint: null });
    host.answers.status = () => ({
      ...STATUS,
      reasons: [reason("unknown key `revew`"), reason("unknown key `engin`")],
    });
    await inbox();
    const foot = screen.getByRole("region", { name: "Runtime" });
    await vi.waitFor(() => {
      for (const word of ["revew", "engin"]) expect(foot.textContent).toContain(word);
    });
  });

  test("says in the foot that what it shows is old when the core answers no more", async () => {
    await inbox();
    const foot = screen.getByRole("region", { name: "Runtime" });
    await vi.waitFor(() => expect(foot.textContent).toContain("Running"));
    host.answers.status = () => {
      throw new Refusal({ code: "store", message: "the store is closed", hint: null });
    };
    host.say("status");
    await vi.waitFor(() => expect(foot.textContent).toContain("the store is closed"));
    expect(foot.textContent).toContain("No answer");
    expect(foot.textContent).not.toContain("Running");
    expect(foot.textContent).toContain("$2.14 of $10 today");
    host.answers.status = () => STATUS;
    await fireEvent.click(screen.getByTestId("foot-retry"));
    await vi.waitFor(() => expect(foot.textContent).toContain("Running"));
    expect(foot.textContent).not.toContain("No answer");
  });

  test("Done and Snooze on the open card are about that card, whatever is selected", async () => {
    kept = [entry(3), entry(2), entry(1)];
    host.answers.review_show = ({ id }) => review({ id, state: "published" });
    render(App);
    await screen.findByTestId("entry-3");
    for (const id of [3, 2]) {
      await fireEvent.click(screen.getByTestId(`entry-${id}`));
      await vi.waitFor(() => expect(location.hash).toBe(`#/review/${id}`));
      await type("x");
    }
    expect(screen.getByText(/2 selected/)).toBeTruthy();
    await fireEvent.click(screen.getByTestId("entry-1"));
    await vi.waitFor(() => expect(location.hash).toBe("#/review/1"));
    host.calls.length = 0;
    await fireEvent.click(await screen.findByTestId("snooze-open"));
    await fireEvent.click(await screen.findByTestId("snooze-hour"));
    const marks = (): unknown[] =>
      host.asked("inbox_mark").filter((one) => !JSON.stringify(one).includes('"read"'));
    await vi.waitFor(() => expect(marks()).toHaveLength(1));
    expect(marks()).toMatchObject([{ id: 1, action: { action: "snooze" } }]);
    expect(screen.getByText(/2 selected/)).toBeTruthy();
    await fireEvent.click(screen.getByTestId("entry-2"));
    await fireEvent.click(await screen.findByTestId("done"));
    await vi.waitFor(() => expect(marks()).toHaveLength(2));
    expect(marks()[1]).toEqual({ id: 2, action: { action: "done" } });
  });

  test("a snooze is of what its dialog was opened for, whatever is open by then", async () => {
    await inbox();
    await fireEvent.click(screen.getByTestId("entry-2"));
    await vi.waitFor(() => expect(location.hash).toBe("#/review/2"));
    await type("h");
    await screen.findByTestId("snooze");
    // A notification is clicked while the dialog stands.
    router.go({ page: "inbox", open: { kind: "review", id: 1 } });
    await vi.waitFor(() => expect(location.hash).toBe("#/review/1"));
    await fireEvent.click(screen.getByTestId("snooze-hour"));
    await vi.waitFor(() =>
      expect(host.asked("inbox_mark")).toContainEqual(
        expect.objectContaining({ id: 2, action: expect.objectContaining({ action: "snooze" }) }),
      ),
    );
    expect(JSON.stringify(host.asked("inbox_mark"))).not.toContain(
      '"id":1,"action":{"action":"snooze"',
    );
    // What is open by then stays open.
    expect(location.hash).toBe("#/review/1");
  });

  test("j previews the next entry, Enter opens and reads it", async () => {
    await inbox();
    await type("j");
    await vi.waitFor(() => expect(location.hash).toBe("#/review/2"));
    expect(host.asked("inbox_mark")).toEqual([]);
    await type("Enter");
    expect(host.asked("inbox_mark")).toEqual([{ id: 2, action: { action: "read" } }]);
  });

  test("j stays in the list on an entry that opens on a page of its own, Enter goes there", async () => {
    host.answers.inbox_list = ({ filter }) =>
      inboxPage(
        filter === "open"
          ? [entry(7, { kind: "incident", target: "settings/accounts?octo@github.com" })]
          : [],
      );
    render(App);
    await screen.findByTestId("entry-7");
    await type("j");
    await vi.waitFor(() => expect(document.activeElement?.getAttribute("data-entry")).toBe("7"));
    expect(location.hash).toBe("#/inbox");
    expect(screen.getByText("It opens on its own page")).toBeTruthy();
    await type("Enter");
    await vi.waitFor(() => expect(location.hash).toBe("#/settings/accounts"));
  });

  test("e is done, moves on, and can be undone from its toast", async () => {
    await inbox();
    await type("j");
    await vi.waitFor(() => expect(document.activeElement?.getAttribute("data-entry")).toBe("2"));
    await type("e");
    await vi.waitFor(() => expect(screen.queryByTestId("entry-2")).toBeNull());
    await vi.waitFor(() => expect(location.hash).toBe("#/review/1"));
    expect((await screen.findByTestId("toast")).textContent).toContain("Done: Entry 2");
    await fireEvent.click(screen.getByTestId("toast-undo"));
    await vi.waitFor(() => expect(host.asked("inbox_undo")).toEqual([{ step: 42 }]));
  });

  test("Ctrl+Z walks back without naming an entry", async () => {
    await inbox();
    await type("z", { ctrlKey: true });
    await vi.waitFor(() => expect(host.asked("inbox_undo")).toEqual([{}]));
  });

  test("x and Shift+J select, and one key acts on all of them", async () => {
    await inbox();
    await type("j");
    await vi.waitFor(() => expect(document.activeElement?.getAttribute("data-entry")).toBe("2"));
    await type("x");
    await type("J", { shiftKey: true });
    expect(screen.getByText(/2 selected/)).toBeTruthy();
    await type("s");
    await vi.waitFor(() => expect(host.asked("inbox_mark")).toHaveLength(2));
    expect((await screen.findByTestId("toast")).textContent).toContain("Saved: 2 entries");
  });

  test("h snoozes until a chosen time", async () => {
    await inbox();
    await type("j");
    await vi.waitFor(() => expect(document.activeElement?.getAttribute("data-entry")).toBe("2"));
    await type("h");
    await fireEvent.click(await screen.findByTestId("snooze-tomorrow"));
    await vi.waitFor(() => {
      const [mark] = host.asked("inbox_mark") as {
        id: number;
        action: { action: string; until: string };
      }[];
      expect([mark?.id, mark?.action.action]).toEqual([2, "snooze"]);
      expect(Date.parse(mark?.action.until ?? "")).toBeGreaterThan(Date.now());
    });
  });

  test("digits change the page, ? and Ctrl+K open their sheets", async () => {
    await inbox();
    await type("2");
    expect(await screen.findByText("No task yet")).toBeTruthy();
    await type("3");
    expect(await screen.findByText("No repository is watched")).toBeTruthy();
    await type("8");
    expect(await screen.findByText("Nobody is signed in")).toBeTruthy();
    await type("?");
    expect(await screen.findByTestId("key-sheet")).toBeTruthy();
    shell.sheet = false;
    await vi.waitFor(() => expect(screen.queryByTestId("key-sheet")).toBeNull());
    await type("k", { ctrlKey: true });
    const palette = within(await screen.findByTestId("palette"));
    await fireEvent.input(palette.getByRole("combobox"), { target: { value: "entry 2" } });
    expect(palette.getAllByRole("option").map((one) => one.textContent?.trim())).toEqual([
      "Entry 2app #1",
    ]);
    await fireEvent.keyDown(palette.getByRole("combobox"), { key: "Enter" });
    await vi.waitFor(() => expect(location.hash).toBe("#/review/2"));
  });

  test("the inbox that cannot be read says why and what to do", async () => {
    host.answers.inbox_list = () => {
      throw new Error("the database is locked");
    };
    render(App);
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("the database is locked");
    expect(within(alert).getByRole("button", { name: "Try again" })).toBeTruthy();
  });

  test("a search without a hit says so, however many entries are done", async () => {
    kept = [
      entry(2),
      entry(1),
      ...Array.from({ length: 4 }, (_, i) => entry(10 + i, { state: "done" })),
    ];
    const list = host.answers.inbox_list;
    host.answers.inbox_list = (request) => {
      if (!list) throw new Error("BUG: set above");
      return request.query === "nowhere" ? inboxPage([]) : list(request);
    };
    await inbox();
    await fireEvent.input(screen.getByPlaceholderText("Search or filter"), {
      target: { value: "nowhere" },
    });
    expect(await screen.findByText("No entry matches")).toBeTruthy();
  });

  test("an inbox that was read and now cannot be keeps its rows and says how old they are", async () => {
    await inbox();
    host.answers.inbox_list = () => {
      throw new Error("the database is locked");
    };
    host.say("inbox");
    expect(await screen.findByText(/Shown as of just now: the database is locked/)).toBeTruthy();
    expect(screen.getByTestId("entry-2")).toBeTruthy();
  });

  test("the first run offers three steps, and each can be skipped", async () => {
    kept = [];
    host.answers.status = () => ({ ...STATUS, tasks: 0, reviewEnabled: false });
    render(App);
    expect(await screen.findByText("3 steps to the first review")).toBeTruthy();
    for (const left of [
      "2 steps to the first review",
      "1 step to the first review",
      "You are set up",
    ]) {
      await fireEvent.click(screen.getAllByRole("button", { name: "Skip" })[0] as HTMLElement);
      expect(await screen.findByText(left)).toBeTruthy();
    }
  });
});
