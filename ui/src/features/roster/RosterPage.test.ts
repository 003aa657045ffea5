import { fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { RosterView } from "../../api/generated/RosterView";
import type { Status } from "../../api/generated/Status";
import { Refusal } from "../../host";
import { memberLabel } from "../../lib/labels";
import { notices } from "../../lib/notices.svelte";
import { prefer } from "../../lib/prefs.svelte";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import { AT, inboxPage, member, need, roster, status } from "../../testing/views";

const STATES = ["working", "waiting", "idle", "error", "unwatchable", "unknown"];
const HOLDER = { kind: "desktop", pid: 1, since: AT };
const FLAG = "FLAGGED: CAPTURE FAILED: there is no pane %40";
let host: Script;
let seen: RosterView;
let now: Status;

beforeEach(() => {
  prefer({ cursor: null, unfolded: [], lastHash: "", firstRunSkipped: [] });
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  const questions = {
    open: 1,
    oldest: AT,
    tick: null,
    tickAt: null,
    resolutionFail: false,
    captureFailed: 1,
    flagged: 1,
  };
  now = status({ holder: HOLDER, questions });
  seen = roster({
    members: [
      member("coord", { state: "waiting", needs: [3] }),
      member("brain", { host: "build", state: "unwatchable", flagged: FLAG, reach: "ssh" }),
      member("night", { state: "unwatchable", absent: "sleeping", pane: null, reach: "messages" }),
    ],
    tick: "3 members: 1 waiting, 2 unwatchable (2 capture-failed)",
    tickAt: AT,
  });
  host = script({
    status: () => now,
    inbox_list: () => inboxPage([]),
    roster_list: () => seen,
    roster_look: () => ({ message: "the panes are looked at now" }),
    roster_capture: ({ agent }) => ({ agent, at: AT, lines: ["$ make <b>", "\u202eevil"] }),
    roster_brief: () => ({ text: "Ask leon with steward need." }),
    roster_brief_send: () => ({ message: "coord is briefed" }),
    need_list: () => ({
      needs: [need(), need({ id: 4, state: "withdrawn", question: "Re-run it?" })],
      open: 1,
      queue: "",
    }),
    need_show: () => need(),
    config_check: () => {
      throw new Error("not asked for here");
    },
  });
});

async function at(hash: string): Promise<void> {
  router.show(parse(hash));
  render(App);
  await vi.waitFor(() => expect(screen.queryByRole("status", { name: /^Reading/ })).toBeNull());
}
async function type(key: string, how: KeyboardEventInit = {}): Promise<void> {
  await fireEvent.keyDown(document.activeElement ?? document.body, { key, ...how });
}
const text = (id: string): string => screen.getByTestId(id).textContent ?? "";

test("the six states differ in word, icon and colour", () => {
  for (const part of ["word", "icon", "tone"] as const) {
    expect(new Set(STATES.map((state) => memberLabel(state)[part])).size).toBe(STATES.length);
  }
});

test("without a watcher seat one short line says so, and why stands behind it", async () => {
  const why = "no watcher seat is configured; there is no ~/seats/watcher.yaml";
  seen = roster({ ...seen, watcher: { state: "absent", text: why } });
  await at("roster");
  const notice = screen.getByTestId("roster-watcher") as HTMLDetailsElement;
  expect(notice.querySelector("summary")?.textContent).toContain("No watcher seat");
  expect(notice.querySelector("summary")?.textContent).not.toContain("watcher.yaml");
  expect(notice.open).toBe(false);
  expect(notice.textContent).toContain(why);
});

test.each([
  ["owner:/src/app", /No owner is configured/, "/src/app"],
  ["thrum:/src/app", /Messages of thrum cannot be read or sent/, "/src/app"],
  ["thrum-panes", /Panes are not read through thrum/, ""],
  ["watcher", /The watcher seat failed/, "judges what facts do not settle"],
])("the fault %s opens as what it is", async (of, title, more) => {
  router.show({ page: "inbox", open: { kind: "roster", of } });
  render(App);
  const fault = await screen.findByTestId("roster-fault");
  expect(fault.textContent).toMatch(title);
  expect(fault.textContent).toContain(more);
  expect(fault.textContent).not.toContain("not on the roster");
});

describe("the roster", () => {
  test("the last tick stands at its head, and a failed capture needs no opening", async () => {
    await at("roster");
    expect(text("roster-tick")).toContain("1 waiting, 2 unwatchable (2 capture-failed)");
    expect(text("roster-flagged")).toContain("CAPTURE FAILED");
    expect(text("roster-flagged")).toContain("brain");
    expect(text("member-brain")).toContain(FLAG);
    expect(text("foot-roster")).toContain("CAPTURE FAILED: 1");
  });

  test("who is declared absent is not flagged", async () => {
    await at("roster");
    expect(text("member-night")).toContain("declared sleeping");
    expect(text("member-night")).not.toContain("CAPTURE FAILED");
    expect(text("roster-flagged")).not.toContain("night");
  });

  test("RESOLUTION-FAIL shows on the page and in the foot of every page", async () => {
    seen = roster({
      ...seen,
      tick: "RESOLUTION-FAIL: no member could be captured",
      resolutionFail: true,
    });
    const failing = { ...now.questions, resolutionFail: true };
    now = status({ holder: HOLDER, questions: failing as NonNullable<Status["questions"]> });
    await at("roster");
    expect(text("roster-tick")).toContain("RESOLUTION-FAIL");
    expect(text("foot-roster")).toContain("RESOLUTION-FAIL");
  });

  test("keys walk over members and questions and open them", async () => {
    await at("inbox");
    await type("5");
    await screen.findByTestId("member-coord");
    await type("j");
    await type("Enter");
    await vi.waitFor(() => expect(location.hash).toBe("#/roster/coord%40studio"));
    await type("j");
    await vi.waitFor(() => expect(location.hash).toBe("#/roster/brain%40build"));
    await type("G", { shiftKey: true });
    await type("Enter");
    await vi.waitFor(() => expect(location.hash).toBe("#/question/4"));
  });

  test("r asks for a look", async () => {
    await at("roster");
    await type("r");
    expect((await screen.findByTestId("toast")).textContent).toContain("looked at now");
    expect(host.asked("roster_look")).toHaveLength(1);
  });

  test("with no runtime it says that nobody watches, and offers no look", async () => {
    now = { ...now, holder: null };
    await at("roster");
    await vi.waitFor(() => expect(text("roster-tick")).toContain("Nobody watches"));
    expect(screen.queryByTestId("roster-look")).toBeNull();
  });

  test("one that cannot be read again stays, marked with its age", async () => {
    await at("roster");
    host.answers.roster_list = () => {
      throw new Refusal({ code: "store", message: "the database is busy", hint: null });
    };
    host.say("roster");
    expect(await screen.findByText(/the database is busy/)).toBeTruthy();
    expect(screen.getByTestId("member-coord")).toBeTruthy();
  });

  test("one that was never read says so", async () => {
    host.answers.roster_list = () => {
      throw new Refusal({ code: "store", message: "the database is busy", hint: null });
    };
    await at("roster");
    expect((await screen.findByRole("alert")).textContent).toContain("cannot be read");
  });

  test("switched off it says how to switch on", async () => {
    const { questions: _, ...off } = now;
    now = off;
    host.answers.roster_list = () => {
      throw new Refusal({ code: "refused", message: "questions are off", hint: null });
    };
    await at("roster");
    expect((await screen.findByTestId("roster-off")).textContent).toContain("enabled: true");
    await fireEvent.click(screen.getByTestId("roster-copy"));
    await vi.waitFor(() => expect(host.copied[0]).toContain("roster:\n    - {agent: coord"));
  });

  test("without members or questions it says how to add one", async () => {
    seen = roster();
    host.answers.need_list = () => ({ needs: [], open: 0, queue: "" });
    await at("roster");
    expect((await screen.findByTestId("roster-empty")).textContent).toContain("list-panes");
  });
});

test("a folder of the roster that cannot be read is said, also when nobody else is on it", async () => {
  seen = roster({ faults: ["~/src/app/.thrum: no such folder"] });
  host.answers.need_list = () => ({ needs: [], open: 0, queue: "" });
  await at("roster");
  expect(text("roster-fault")).toContain("no such folder");
  expect(await screen.findByTestId("roster-empty")).toBeTruthy();
});

test("a search finds members and questions by their words", async () => {
  await at("roster");
  await fireEvent.input(screen.getByTestId("search"), { target: { value: "Re-run" } });
  await vi.waitFor(() => expect(screen.queryByTestId("member-coord")).toBeNull());
  expect(screen.getByTestId("need-4")).toBeTruthy();
  await fireEvent.input(screen.getByTestId("search"), { target: { value: "sleeping" } });
  await screen.findByTestId("member-night");
  expect(screen.queryByTestId("need-4")).toBeNull();
  await fireEvent.input(screen.getByTestId("search"), { target: { value: "zebra" } });
  expect(await screen.findByText("Nothing matches")).toBeTruthy();
});

describe("a member", () => {
  test("its screen is read at once here, and is text", async () => {
    await at("roster/coord@studio");
    const screenOf = await screen.findByTestId("capture");
    expect(screenOf.textContent).toContain("$ make <b>");
    expect(screenOf.textContent).toContain("U+202E");
    expect(host.asked("roster_capture")).toEqual([{ agent: "coord" }]);
  });

  test.each([
    ["elsewhere", { reach: "ssh", state: "idle" }],
    ["that cannot be watched", { reach: "local", state: "unwatchable" }],
  ])("a pane %s is read on a press alone", async (_, change) => {
    const brain = member("brain", { host: "build", flagged: FLAG, ...change });
    seen = roster({ ...seen, members: [brain] });
    await at("roster/brain@build");
    await screen.findByTestId("member-flagged");
    expect(host.asked("roster_capture")).toEqual([]);
    await fireEvent.click(screen.getByTestId("capture-again"));
    await screen.findByTestId("capture");
    expect(host.asked("roster_capture")).toEqual([{ agent: "brain" }]);
  });

  test("is briefed after a question that shows the text, and never twice", async () => {
    await at("roster/coord@studio");
    await fireEvent.click(await screen.findByTestId("member-brief"));
    expect((await screen.findByTestId("confirm")).textContent).toContain("Ask leon");
    expect(host.asked("roster_brief_send")).toEqual([]);
    seen = roster({ ...seen, members: [member("coord", { briefed: true })] });
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("roster_brief_send")).toEqual([{ agent: "coord" }]));
    await vi.waitFor(() => expect(screen.queryByTestId("member-brief")).toBeNull());
    expect(text("member-briefed")).toContain("was typed");
  });

  test("where no keys are typed the briefing is copied instead", async () => {
    seen = roster({ ...seen, keys: false });
    await at("roster/coord@studio");
    expect(screen.queryByTestId("member-brief")).toBeNull();
    await fireEvent.click(await screen.findByTestId("member-briefing"));
    await vi.waitFor(() => expect(host.copied).toEqual(["Ask leon with steward need."]));
  });

  test("an address of nobody says so", async () => {
    await at("roster/nobody@studio");
    expect(await screen.findByText(/nobody@studio is not on the roster/)).toBeTruthy();
  });
});
