import { fireEvent, render, screen, within } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { BoardView } from "../../api/generated/BoardView";
import type { ObserverView } from "../../api/generated/ObserverView";
import type { RepositoryView } from "../../api/generated/RepositoryView";
import { Refusal } from "../../host";
import { notices } from "../../lib/notices.svelte";
import { prefer } from "../../lib/prefs.svelte";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import {
  AT,
  account,
  editView,
  inboxPage,
  issue,
  observer,
  pull,
  repository,
  review,
  status,
  task,
} from "../../testing/views";

let host: Script;
let repositories: RepositoryView[];
let seen: ObserverView;
let board: BoardView;

beforeEach(() => {
  prefer({ cursor: null, unfolded: [], lastHash: "", firstRunSkipped: [] });
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  repositories = [
    repository("octo/app"),
    repository("octo/site", { mode: "act", unconfirmed: true }),
  ];
  seen = observer();
  board = {
    repository: repository("octo/app"),
    pulls: [
      pull(12, { title: "Fix the cache" }),
      pull(13, { title: "Break it", checks: "failing", task: null }),
    ],
    issues: [issue(9, { title: "<b>slow</b>" })],
  };
  host = script({
    status: () => status({ observer: seen }),
    inbox_list: () => inboxPage([]),
    task_list: () => ({ tasks: [] }),
    task_show: ({ id }) => ({
      task: task(id),
      reviews: [],
      contract: null,
      frames: [],
      handoffs: [],
    }),
    task_gates: () => ({
      head: "a".repeat(40),
      base: null,
      at: AT,
      gates: [],
      cap: null,
      stats: { files: 1, added: 1, removed: 0 },
    }),
    repository_list: () => ({ repositories, observer: seen }),
    repository_board: ({ name }) => {
      if (name !== "octo/app") {
        throw new Refusal({ code: "not_found", message: "no such repository", hint: null });
      }
      return board;
    },
    account_list: () => ({ accounts: [account()], gh: [], keyring: null, budgets: [] }),
    observe_now: () => seen,
    review_show: ({ id }) => review({ id }),
    config_check: () => ({
      path: "",
      exists: true,
      lastGoodInForce: false,
      problems: [],
      effective: [{ key: "review.budgetUsd", value: "1.5", origin: "default" }],
    }),
  });
});

async function at(hash: string): Promise<void> {
  router.show(parse(hash));
  render(App);
}

async function type(key: string, how: KeyboardEventInit = {}): Promise<void> {
  await fireEvent.keyDown(document.activeElement ?? document.body, { key, ...how });
}

const focusOn = (what: string): Promise<void> =>
  vi.waitFor(() => expect((document.activeElement as HTMLElement)?.dataset["testid"]).toBe(what));

describe("the list of repositories", () => {
  test("is walked and opened by keys, down to a pull and up again", async () => {
    await at("repositories");
    await screen.findByTestId("repository-octo/app");
    await type("j");
    await focusOn("repository-octo/app");
    await type("Enter");
    await focusOn("pull-12");
    expect(location.hash).toBe("#/repository/octo/app");
    await type("j");
    await focusOn("pull-13");
    await type("j");
    await focusOn("issue-9");
    await type("k");
    await type("Enter");
    await vi.waitFor(() => expect(location.hash).toBe("#/repository/octo/app/pull/13"));
    await type("k");
    await vi.waitFor(() => expect(location.hash).toBe("#/repository/octo/app/pull/12"));
    await type("Escape");
    await vi.waitFor(() => expect(location.hash).toBe("#/repository/octo/app"));
    await type("Escape");
    await vi.waitFor(() => expect(location.hash).toBe("#/repositories"));
  });

  test("is empty, and says what to do", async () => {
    repositories = [];
    seen = observer({ state: "off", lastTick: null });
    await at("repositories");
    expect(await screen.findByText("No repository is watched")).toBeTruthy();
    expect(screen.getByTestId("add-first-repository")).toBeTruthy();
  });

  test("that cannot be read says why", async () => {
    host.answers.repository_list = () => {
      throw new Error("the database is locked");
    };
    await at("repositories");
    expect((await screen.findByRole("alert")).textContent).toContain("the database is locked");
  });

  test("that was read and now cannot be keeps its rows and their age", async () => {
    await at("repositories");
    await screen.findByTestId("repository-octo/app");
    host.answers.repository_list = () => {
      throw new Error("the database is locked");
    };
    host.say("repositories");
    expect(await screen.findByText(/Shown as of just now: the database is locked/)).toBeTruthy();
    expect(screen.getByTestId("repository-octo/app")).toBeTruthy();
  });

  test.each([
    ["offline", {}, ["GitHub cannot be reached", "Shown as of"]],
    ["limited", {}, ["GitHub's limit holds"]],
    ["waiting", { nextTick: AT }, ["Nobody looks at GitHub now", "Shown as of"]],
    ["waiting", { nextTick: null }, ["Nobody looks at GitHub now"]],
    ["signed_out", {}, ["Nobody is signed in to GitHub", "Sign in"]],
    [
      "incomplete",
      { problem: { code: "incomplete", message: "page 3 failed", hint: "it is tried again" } },
      ["GitHub was not seen whole", "page 3 failed", "it is tried again"],
    ],
  ] as [ObserverView["state"], Partial<ObserverView>, string[]][])(
    "says that it is %s, and keeps what was seen",
    async (state, change, words) => {
      seen = observer({ state, ...change });
      await at("repositories");
      const note = (await screen.findByTestId("observer-note")).textContent ?? "";
      for (const word of words) expect(note).toContain(word);
      expect(screen.getByTestId("repository-octo/app")).toBeTruthy();
    },
  );

  test("r asks for a look now, and a refusal is said", async () => {
    await at("repositories");
    await screen.findByTestId("repository-octo/app");
    await type("r");
    await vi.waitFor(() => expect(host.asked("observe_now")).toHaveLength(1));
    host.answers.observe_now = () => {
      throw new Refusal({ code: "refused", message: "a look is under way", hint: null });
    };
    await type("r");
    expect((await screen.findByTestId("toast")).textContent).toContain("a look is under way");
  });
});

describe("a board", () => {
  test("groups pulls by whose move it is, and foreign text stays text", async () => {
    await at("repository/octo/app");
    expect(await screen.findByText("Your review wanted")).toBeTruthy();
    expect(screen.getByText("Checks failing")).toBeTruthy();
    expect(screen.getByTestId("issue-9").textContent).toContain("<b>slow</b>");
    expect(screen.getByTestId("issue-9").querySelector("b")).toBeNull();
  });

  test("computes the gates again when a check of the pull ends, and not when nothing moved", async () => {
    await at("repository/octo/app/pull/12");
    await vi.waitFor(() => expect(host.asked("task_gates")).toHaveLength(1));
    host.say("repositories");
    await vi.waitFor(() => expect(host.asked("repository_board").length).toBeGreaterThan(1));
    expect(host.asked("task_gates")).toHaveLength(1);
    board = { ...board, pulls: [pull(12, { title: "Fix the cache", checks: "failing" })] };
    host.say("repositories");
    await vi.waitFor(() => expect(host.asked("task_gates")).toHaveLength(2));
  });

  test("of a repository that was never seen says so", async () => {
    board = { repository: repository("octo/app", { observedAt: null }), pulls: [], issues: [] };
    await at("repository/octo/app");
    expect(await screen.findByText("Not seen yet")).toBeTruthy();
  });

  test("of a repository that nobody watches names it", async () => {
    await at("repository/octo/gone");
    expect(await screen.findByText("octo/gone is not watched")).toBeTruthy();
  });

  test("Shift+O opens the pull in the browser", async () => {
    await at("repository/octo/app/pull/12");
    await screen.findByTestId("pull-facts");
    await type("O", { shiftKey: true });
    await vi.waitFor(() => expect(host.opened).toEqual(["https://github.com/octo/app/pull/12"]));
  });

  test("a pull without a task gets one when it is reviewed, and money is asked about", async () => {
    host.answers.task_add = () => task(77, { title: "Break it" });
    host.answers.review_start = () => ({ review: 5, task: 77, sha: "b".repeat(40) });
    await at("repository/octo/app/pull/13");
    await fireEvent.click(await screen.findByTestId("pull-add-task"));
    const asked = await screen.findByTestId("confirm");
    expect(asked.textContent).toContain("at most $1.50");
    expect(host.asked("task_add")).toEqual([{ pull: "octo/app#13" }]);
    expect(host.asked("review_start")).toEqual([]);
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(location.hash).toBe("#/repository/octo/app/pull/13/review/5"));
  });

  test("a review that was asked for stands under its own pull, wherever the person is by then", async () => {
    let made = (): void => undefined;
    host.answers.task_add = () =>
      new Promise((done) => {
        made = () => done(task(77, { title: "Break it" }));
      }) as never;
    host.answers.review_start = () => ({ review: 5, task: 77, sha: "b".repeat(40) });
    await at("repository/octo/app/pull/13");
    await screen.findByTestId("pull-add-task");
    await type("R", { shiftKey: true });
    await vi.waitFor(() => expect(host.asked("task_add")).toEqual([{ pull: "octo/app#13" }]));
    await type("k");
    await vi.waitFor(() => expect(location.hash).toBe("#/repository/octo/app/pull/12"));
    made();
    await fireEvent.click(await screen.findByTestId("confirm-ok"));
    await vi.waitFor(() => expect(location.hash).toBe("#/repository/octo/app/pull/13/review/5"));
  });

  test("that was read and now cannot be says so while a pull is open, too", async () => {
    await at("repository/octo/app/pull/12");
    await screen.findByTestId("pull-facts");
    host.answers.repository_board = () => {
      throw new Error("the database is locked");
    };
    host.say("repositories");
    expect(await screen.findByText(/Shown as of just now: the database is locked/)).toBeTruthy();
    expect(screen.getByTestId("pull-facts")).toBeTruthy();
  });

  test("shows what is in force, and beside it what waits to be confirmed", async () => {
    const asked = { mode: "act", act: ["merge"] };
    board.repository = repository("octo/app", { mode: "suggest", asked, unconfirmed: true });
    await at("repository/octo/app");
    expect((await screen.findByTestId("mode-chip")).textContent).toContain("SUGGEST");
    const head = screen.getByTestId("board-head").textContent ?? "";
    expect(head.match(/by itself/g)).toHaveLength(1);
    const waits = screen.getByTestId("unconfirmed").textContent ?? "";
    expect(waits).toMatch(/ACT, by itself: merge/);
  });

  test("that is stopped being watched while the person went elsewhere leaves them there", async () => {
    let done = (): void => undefined;
    host.answers.repository_remove = () =>
      new Promise((resolve) => {
        done = () => resolve({ message: "octo/app is not watched any more" });
      }) as never;
    await at("repository/octo/app");
    await fireEvent.click(await screen.findByTestId("repository-menu"));
    await fireEvent.click(await screen.findByText("Stop watching"));
    await fireEvent.click(await screen.findByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("repository_remove")).toHaveLength(1));
    router.go(parse("tasks"));
    await vi.waitFor(() => expect(location.hash).toBe("#/tasks"));
    done();
    await vi.waitFor(() =>
      expect(notices.toasts.at(-1)?.text).toBe("octo/app is not watched any more"),
    );
    expect(location.hash).toBe("#/tasks");
  });

  test("a pull that left the board says what became of it", async () => {
    await at("pr/octo/app/99");
    expect(await screen.findByText("#99 is not open here")).toBeTruthy();
  });
});

describe("adding a repository", () => {
  beforeEach(() => {
    host.answers.repository_offers = () => ({ clones: [], account: [], problems: [] });
    host.answers.account_list = () => ({ accounts: [], gh: [], keyring: null, budgets: [] });
    host.answers.repository_add = ({ name }) => repository(name);
    host.answers.repository_checks = () => ({
      repository: "octo/app",
      base: "main",
      required: [],
      proposed: ["build"],
      source: "forge",
      proposal: "GitHub requires these checks already:",
    });
    host.answers.repository_checks_preview = ({ checks }) =>
      editView(`requiredChecks: [${checks.join()}]`);
  });

  async function add(): Promise<void> {
    await at("repositories");
    await fireEvent.click(await screen.findByTestId("add-repository"));
    await fireEvent.input(await screen.findByTestId("repository-name"), {
      target: { value: "octo/app" },
    });
    const confirm = screen.getByTestId("repository-confirm") as HTMLButtonElement;
    await vi.waitFor(() => expect(confirm.disabled).toBe(false));
    await fireEvent.click(confirm);
    await vi.waitFor(() => expect(location.hash).toBe("#/repository/octo/app"));
  }

  test("goes on with the proposed checks while the engine is on, and can be left there", async () => {
    const steward = { boundary: { state: "ready", reason: null }, items: [], stuck: [] };
    host.answers.status = () => ({ ...status({ observer: seen }), steward });
    await add();
    const dialog = within(await screen.findByTestId("checks-dialog"));
    expect(dialog.getByText(/Step 2 of 2/)).toBeTruthy();
    expect((await dialog.findByTestId("checks-source")).textContent).toContain("GitHub requires");
    expect((dialog.getByTestId("check-build") as HTMLInputElement).checked).toBe(true);
    await fireEvent.click(dialog.getByTestId("checks-skip"));
    expect(screen.queryByTestId("checks-dialog")).toBeNull();
    expect(host.asked("repository_checks_set")).toEqual([]);
  });

  test("asks nothing more while the engine is off", async () => {
    await add();
    await screen.findByTestId("board-head");
    expect(screen.queryByTestId("checks-dialog")).toBeNull();
    expect(host.asked("repository_checks")).toEqual([]);
  });
});

describe("the mode of a repository", () => {
  beforeEach(() => {
    host.answers.repository_mode_preview = ({ mode, act }) =>
      editView(`mode: ${mode} [${act?.join(" ") ?? ""}]`, [
        { key: "octo/app.mode", now: "observe", asked: mode, widens: true },
      ]);
  });

  test("shows the difference in the file before it is written, and what of it waits", async () => {
    await at("repository/octo/app");
    await fireEvent.click(await screen.findByTestId("set-mode"));
    const dialog = within(await screen.findByTestId("mode-dialog"));
    await fireEvent.click(dialog.getByTestId("mode-act"));
    await fireEvent.click(dialog.getByTestId("act-merge"));
    await vi.waitFor(() =>
      expect(dialog.getByTestId("edit-diff").textContent).toContain("mode: act [merge]"),
    );
    expect(dialog.getByTestId("edit-pending").textContent).toContain("Waits until you confirm");
    host.answers.repository_mode_preview = () => ({ path: "", parts: [], pending: [] });
    await fireEvent.click(dialog.getByTestId("mode-observe"));
    await dialog.findByTestId("edit-none");
    expect((dialog.getByTestId("mode-save") as HTMLButtonElement).disabled).toBe(true);
    expect(host.asked("repository_mode")).toEqual([]);
  });

  test("is written, and a wider power is shown as a difference and confirmed as exactly that", async () => {
    host.answers.repository_mode = ({ name }) => repository(name, { unconfirmed: true });
    host.answers.power_show = () => ({
      pending: [{ key: "octo/app.mode", now: "observe", asked: "act", widens: true }],
      change: "c4a6e",
    });
    host.answers.power_confirm = () => ({ pending: [], change: null });
    await at("repository/octo/app");
    await screen.findByTestId("board-head");
    await type("m");
    const dialog = within(await screen.findByTestId("mode-dialog"));
    await fireEvent.click(dialog.getByTestId("mode-act"));
    await fireEvent.click(dialog.getByTestId("act-comment_review"));
    await fireEvent.click(dialog.getByTestId("mode-save"));
    await vi.waitFor(() =>
      expect(host.asked("repository_mode")).toEqual([
        { name: "octo/app", mode: "act", act: ["comment_review"] },
      ]),
    );
    const asked = await screen.findByTestId("confirm");
    expect(asked.textContent).toContain("observe → act");
    expect(host.asked("power_confirm")).toEqual([]);
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("power_confirm")).toEqual([{ change: "c4a6e" }]));
  });

  test("whose answer comes late closes no other dialog, and its toast tells of what was written", async () => {
    let written = (): void => undefined;
    host.answers.repository_mode = ({ name }) =>
      new Promise((done) => {
        written = () => done(repository(name, { unconfirmed: true }));
      }) as never;
    await at("repository/octo/app");
    await fireEvent.click(await screen.findByTestId("set-mode"));
    await fireEvent.click(await screen.findByTestId("mode-suggest"));
    await vi.waitFor(() =>
      expect((screen.getByTestId("mode-save") as HTMLButtonElement).disabled).toBe(false),
    );
    await fireEvent.click(screen.getByTestId("mode-save"));
    await vi.waitFor(() => expect(host.asked("repository_mode")).toHaveLength(1));
    await fireEvent.click(screen.getByTestId("mode-act"));
    await fireEvent.click(screen.getByText("Cancel"));
    await vi.waitFor(() => expect(screen.queryByTestId("mode-dialog")).toBeNull());
    await fireEvent.click(screen.getByTestId("set-mode"));
    await screen.findByTestId("mode-dialog");
    written();
    await vi.waitFor(() =>
      expect(notices.toasts.at(-1)?.text).toBe("octo/app: suggest is written"),
    );
    expect(screen.getByTestId("mode-dialog")).toBeTruthy();
    expect(host.asked("power_show")).toEqual([]);
  });

  test("that is refused stays in its dialog with the reason", async () => {
    host.answers.repository_mode = () => {
      throw new Refusal({ code: "config", message: "the file does not parse", hint: "line 3" });
    };
    await at("repository/octo/app");
    await fireEvent.click(await screen.findByTestId("set-mode"));
    await fireEvent.click(await screen.findByTestId("mode-suggest"));
    await fireEvent.click(screen.getByTestId("mode-save"));
    expect((await screen.findByTestId("problem")).textContent).toContain("the file does not parse");
  });
});

describe("a freeze of merging", () => {
  test("is the first line of the board's head, and is lifted only after a yes", async () => {
    const why = "what landed with #12 is not what its merge makes: it differs at a.txt";
    board.repository = repository("octo/app", { frozen: { why, at: AT } });
    repositories = [board.repository];
    host.answers.repository_unfreeze = ({ name }) => {
      board = { ...board, repository: repository(name) };
      return board.repository;
    };
    await at("repository/octo/app");
    const line = await screen.findByTestId("frozen");
    expect(line.textContent).toContain("Merging is frozen");
    expect(line.textContent).toContain(why);
    await fireEvent.click(screen.getByTestId("unfreeze"));
    expect((await screen.findByTestId("confirm")).textContent).toContain(why);
    expect(host.asked("repository_unfreeze")).toEqual([]);
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() =>
      expect(host.asked("repository_unfreeze")).toEqual([{ name: "octo/app" }]),
    );
    await vi.waitFor(() => expect(screen.queryByTestId("frozen")).toBeNull());
  });

  test("is marked in the list, and nothing is where there is none", async () => {
    repositories[0] = repository("octo/app", { frozen: { why: "it differs", at: AT } });
    await at("repositories");
    expect((await screen.findByTestId("repository-octo/app")).textContent).toContain("frozen");
    expect(screen.getByTestId("repository-octo/site").textContent).not.toContain("frozen");
  });
});

test("the foot says when GitHub was seen and what is left to ask", async () => {
  seen = observer({
    budgets: [
      {
        host: "github.com",
        account: "octo",
        resource: "core",
        remaining: 4812,
        limit: 5000,
        resetAt: null,
        pausedUntil: null,
        why: null,
        seenAt: AT,
      },
    ],
  });
  await at("repositories");
  expect((await screen.findByTestId("foot-budget")).textContent).toContain("4,812 of 5,000 left");
  expect(screen.getByTestId("foot-observer").textContent).toContain("GitHub seen");
});
