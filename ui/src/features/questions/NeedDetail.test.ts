import { cleanup, fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import App from "../../App.svelte";
import type { EntryView } from "../../api/generated/EntryView";
import type { NeedView } from "../../api/generated/NeedView";
import { Refusal } from "../../host";
import { notices } from "../../lib/notices.svelte";
import { prefer } from "../../lib/prefs.svelte";
import { parse, router } from "../../lib/route.svelte";
import { type Script, script } from "../../testing/host";
import { AT, answer, entry, inboxPage, need, status } from "../../testing/views";
import { keepDraft } from "./drafts";

let host: Script;
let shown: NeedView;
let entries: EntryView[];

const PROMPT: Partial<NeedView> = {
  question: "Do you want to proceed?\nrm -rf target",
  options: [],
  origin: "pane",
  judged: true,
  pane: "%31",
  prompt: {
    title: "Do you want to proceed?",
    subject: "rm -rf target",
    choices: ["Yes", "Yes, and don't ask again", "No"],
  },
  may: {
    answer: false,
    press: true,
    whyNotAllow: null,
    drop: true,
    takeBack: false,
    typeAnswer: false,
    why: null,
  },
};

beforeEach(() => {
  prefer({ cursor: null, unfolded: [], lastHash: "", firstRunSkipped: [] });
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  keepDraft(3, "");
  shown = need();
  entries = [
    entry(1, { kind: "question", target: "question/3", chip: "NEED", title: "WAL or rollback?" }),
    entry(2, {
      kind: "incident",
      target: "roster/brain@build",
      chip: "UNWATCHABLE",
      title: "Lost",
    }),
  ];
  host = script({
    status: () => status(),
    inbox_list: ({ filter }) => inboxPage(filter === "open" ? entries : []),
    inbox_mark: ({ id }) => ({
      entry: entries.find((one) => one.id === id) as EntryView,
      step: null,
    }),
    need_show: () => shown,
    need_answer: () => {
      shown = need({
        state: "answered",
        text: "answered",
        may: {
          answer: false,
          press: false,
          whyNotAllow: null,
          drop: false,
          takeBack: false,
          typeAnswer: false,
          why: null,
        },
        answer: answer({ way: "fetch", text: "the asker has not fetched it yet" }),
      });
      return shown;
    },
    need_press: () => shown,
    need_again: () => shown,
    need_take_back: () => {
      shown = need();
      return shown;
    },
    need_drop: () => shown,
    roster_list: () => {
      throw new Refusal({ code: "refused", message: "questions are off", hint: null });
    },
    need_list: () => ({ needs: [], open: 0, queue: "" }),
  });
});

async function at(hash: string): Promise<void> {
  router.show(parse(hash));
  render(App);
  await screen.findByTestId("question-state");
}
async function type(key: string, how: KeyboardEventInit = {}): Promise<void> {
  await fireEvent.keyDown(document.activeElement ?? document.body, { key, ...how });
}
const field = (): HTMLTextAreaElement => screen.getByTestId("answer-field");

describe("a question", () => {
  test("shows what its asker wrote as text", async () => {
    shown = need({ question: "Keep <b>it</b>?\nSee <img src=x onerror=alert(1)>." });
    await at("question/3");
    expect(screen.getByRole("heading", { name: "Keep <b>it</b>?" })).toBeTruthy();
    expect(screen.getByTestId("question-more").textContent).toContain("<img src=x");
    expect(document.querySelector("img")).toBeNull();
  });

  test("an option fills the field; what stands there is sent, exactly, by Ctrl+Enter", async () => {
    await at("question/3");
    await fireEvent.click(screen.getByTestId("option-B"));
    expect(field().value).toBe("B) rollback");
    expect(screen.getByTestId("option-B").getAttribute("aria-pressed")).toBe("true");
    expect(host.asked("need_answer")).toEqual([]);
    await fireEvent.input(field(), { target: { value: "B, but keep the old files" } });
    expect(screen.getByTestId("option-B").getAttribute("aria-pressed")).toBe("false");
    await type("Enter", { ctrlKey: true });
    expect(host.asked("need_answer")).toEqual([{ id: 3, text: "B, but keep the old files" }]);
    await vi.waitFor(() =>
      expect(screen.getByTestId("question-state").textContent).toContain("ANSWERED"),
    );
    expect(screen.queryByTestId("answer-field")).toBeNull();
  });

  test("a refused answer stays in its field, and says why", async () => {
    host.answers.need_answer = () => {
      throw new Refusal({ code: "refused", message: "question 3 is open no more", hint: null });
    };
    await at("question/3");
    await fireEvent.input(field(), { target: { value: "B" } });
    await fireEvent.click(screen.getByTestId("answer-send"));
    expect((await screen.findByTestId("toast")).textContent).toContain("open no more");
    expect(field().value).toBe("B");
  });

  test("words that were not sent are there when one comes back", async () => {
    await at("question/3");
    await fireEvent.input(field(), { target: { value: "half a thou" } });
    router.go({ page: "inbox", open: null });
    await vi.waitFor(() => expect(screen.queryByTestId("answer-field")).toBeNull());
    router.go(parse("question/3"));
    await screen.findByTestId("answer-field");
    expect(field().value).toBe("half a thou");
  });

  test("a puts the caret into the answer, from the list as well", async () => {
    router.show(parse("inbox"));
    render(App);
    await screen.findByTestId("entry-1");
    await type("j");
    await type("a");
    await screen.findByTestId("answer-field");
    await vi.waitFor(() => expect(document.activeElement).toBe(field()));
    expect(location.hash).toBe("#/question/3");
  });

  test("an empty answer is not sent", async () => {
    await at("question/3");
    await fireEvent.input(field(), { target: { value: "  \n" } });
    await type("Enter", { ctrlKey: true });
    expect(screen.getByTestId<HTMLButtonElement>("answer-send").disabled).toBe(true);
    expect(host.asked("need_answer")).toEqual([]);
  });

  test("a prompt that can only be denied says why, and advice stands beside it", async () => {
    const whyNotAllow = "no option reads exactly Yes: it can be denied here";
    const may = {
      answer: false,
      press: true,
      whyNotAllow,
      drop: true,
      takeBack: false,
      typeAnswer: false,
      why: null,
    };
    const advice = { says: "deny", text: "advised against", why: "it deletes", at: AT };
    shown = need({ ...PROMPT, may, advice });
    await at("question/3");
    expect(screen.queryByTestId("prompt-allow")).toBeNull();
    expect(screen.getByTestId("prompt-deny")).toBeTruthy();
    expect(screen.getByTestId("prompt-not-allowed").textContent).toContain(whyNotAllow);
    expect(screen.getByTestId("prompt-advice").textContent).toContain("it deletes");
  });

  test("one that nothing carries an answer to says so, and takes none", async () => {
    shown = need({
      may: {
        answer: false,
        press: false,
        whyNotAllow: null,
        drop: true,
        takeBack: false,
        typeAnswer: false,
        why: "a prompt is open in its pane: choose there",
      },
    });
    await at("question/3");
    expect(screen.getByTestId("question-why").textContent).toContain("choose there");
    expect(screen.queryByTestId("answer-field")).toBeNull();
    expect(screen.getByRole("list", { name: "Options" }).textContent).toContain("rollback");
  });

  test("is put away unanswered only after a question", async () => {
    await at("question/3");
    await fireEvent.click(screen.getByTestId("question-drop"));
    await screen.findByTestId("confirm");
    expect(host.asked("need_drop")).toEqual([]);
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("need_drop")).toEqual([{ id: 3, who: {} }]));
  });

  test.each([
    ["withdrawn", "TAKEN BACK"],
    ["dropped", "PUT AWAY"],
    ["gone", "GONE"],
  ])("that was %s says so and takes no answer", async (state, word) => {
    const nothing = {
      answer: false,
      press: false,
      whyNotAllow: null,
      drop: false,
      takeBack: false,
      typeAnswer: false,
      why: null,
    };
    shown = need({ state, text: "taken back by its asker", may: nothing, version: 2 });
    await at("question/3");
    expect(screen.getByTestId("question-state").textContent).toContain(word);
    expect(screen.getByTestId("question-version").textContent).toContain("version 2");
    expect(screen.queryByTestId("answer-field")).toBeNull();
  });
});

describe("a permission prompt", () => {
  beforeEach(() => {
    shown = need(PROMPT);
  });

  test("shows its command and choices, is tagged, and takes no words", async () => {
    await at("question/3");
    expect(screen.getByTestId("prompt-subject").textContent).toContain("rm -rf target");
    expect(screen.getByTestId("prompt-choices").textContent).toContain("don't ask again");
    expect(screen.getByTestId("question-judged").textContent).toContain("PANE-JUDGED");
    expect(screen.queryByTestId("answer-field")).toBeNull();
  });

  test("is allowed once only after a question that names pane and command", async () => {
    await at("question/3");
    await fireEvent.click(screen.getByTestId("prompt-allow"));
    const asked = (await screen.findByTestId("confirm")).textContent ?? "";
    for (const word of ["coord@studio", "%31", "rm -rf target"]) expect(asked).toContain(word);
    expect(host.asked("need_press")).toEqual([]);
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("need_press")).toEqual([{ id: 3, allow: true }]));
  });

  test("a yes is to the question that was asked about, also when another is open by then", async () => {
    host.answers.need_show = ({ id }) => need({ ...PROMPT, id });
    await at("question/3");
    await fireEvent.click(screen.getByTestId("prompt-allow"));
    await screen.findByTestId("confirm");
    router.go(parse("question/4"));
    await vi.waitFor(() =>
      expect(screen.getByTestId("question").textContent).toContain("question 4"),
    );
    await fireEvent.click(screen.getByTestId("confirm-ok"));
    await vi.waitFor(() => expect(host.asked("need_press")).toEqual([{ id: 3, allow: true }]));
  });

  test("is denied at once", async () => {
    await at("question/3");
    await fireEvent.click(screen.getByTestId("prompt-deny"));
    expect(host.asked("need_press")).toEqual([{ id: 3, allow: false }]);
  });
});

describe("what became of an answer", () => {
  test.each([
    ["type", "queued", "held", ["now: queued", "not yet: typed", "not yet: submitted"]],
    ["type", "typed", "typed, not sent yet", ["done: queued", "now: typed"]],
    ["type", "submitted", "sent, not seen taken yet", ["done: typed", "now: submitted"]],
    ["type", "acknowledged", "sent, and seen taken", ["done: submitted", "done: acknowledged"]],
    ["fetch", "queued", "the asker has not fetched it yet", ["now: queued", "not yet: fetched"]],
    ["key", "acknowledged", "sent, and seen taken", ["done: pressed", "done: the prompt is gone"]],
  ])("%s and %s: a step is done, now, or not yet", async (way, stage, text, says) => {
    shown = need({ state: "answered", answer: answer({ way, stage, text }) });
    await at("question/3");
    const steps = (screen.getByTestId("answer-steps").textContent ?? "").replace(/\s+/g, " ");
    for (const words of says) expect(steps).toContain(words);
    expect(screen.getByTestId("answer-stands").textContent).toContain(text);
  });

  const WAITS = {
    answer: false,
    press: false,
    whyNotAllow: null,
    drop: false,
    takeBack: true,
    typeAnswer: false,
    why: null,
  };

  test("one that waits is taken back, and its words are in the field again", async () => {
    shown = need({ state: "answered", may: WAITS, answer: answer({ words: "B, for now" }) });
    await at("question/3");
    await fireEvent.click(screen.getByTestId("answer-take-back"));
    await vi.waitFor(() => expect(field().value).toBe("B, for now"));
    expect(host.asked("need_take_back")).toEqual([{ id: 3 }]);
  });

  test("is undone from its toast or by the key of undoing, as elsewhere", async () => {
    for (const undo of ["toast", "key"]) {
      const answered = need({ state: "answered", may: WAITS, answer: answer({ words: "A" }) });
      host.answers.need_answer = () => {
        shown = answered;
        return shown;
      };
      shown = need();
      await at("question/3");
      await fireEvent.input(field(), { target: { value: "A" } });
      await fireEvent.click(screen.getByTestId("answer-send"));
      await screen.findByTestId("toast-undo");
      if (undo === "toast") await fireEvent.click(screen.getByTestId("toast-undo"));
      else await type("z", { ctrlKey: true });
      await vi.waitFor(() => expect(field().value).toBe("A"));
      cleanup();
    }
    expect(host.asked("need_take_back")).toEqual([{ id: 3 }, { id: 3 }]);
    expect(host.asked("inbox_undo")).toEqual([]);
  });

  test("on its way already cannot be undone, and says so", async () => {
    shown = need({ state: "answered", may: WAITS, answer: answer() });
    host.answers.need_take_back = () => {
      throw new Refusal({ code: "refused", message: "it is on its way", hint: null });
    };
    await at("question/3");
    await fireEvent.click(screen.getByTestId("answer-take-back"));
    await vi.waitFor(() =>
      expect(notices.toasts.some((toast) => toast.text.includes("it is on its way"))).toBe(true),
    );
  });

  test("one that came back says why, and is sent again as it was", async () => {
    shown = need({
      answer: answer({ stage: "returned", text: "not delivered", why: "the pane runs zsh now" }),
    });
    await at("question/3");
    expect(screen.getByTestId("question-state").textContent).toContain("UNDELIVERED");
    expect(screen.getByTestId("answer-returned").textContent).toContain("the pane runs zsh now");
    await fireEvent.click(screen.getByTestId("answer-again"));
    expect(host.asked("need_again")).toEqual([{ id: 3 }]);
  });

  test("follows the core without being asked", async () => {
    shown = need({ state: "answered", answer: answer({ stage: "queued" }) });
    await at("question/3");
    shown = need({ state: "answered", answer: answer({ stage: "acknowledged", text: "taken" }) });
    host.say("need:3");
    await vi.waitFor(() =>
      expect(screen.getByTestId("answer-steps").dataset.stage).toBe("acknowledged"),
    );
  });
});

describe("the inbox", () => {
  test("walks over a fault of the roster without leaving its list", async () => {
    router.show(parse("inbox"));
    render(App);
    await screen.findByTestId("entry-2");
    await type("G", { shiftKey: true });
    await vi.waitFor(() => expect(location.hash).toBe("#/inbox/roster/brain%40build"));
    expect(screen.getByTestId("entry-1")).toBeTruthy();
    expect(screen.getByText("questions are off")).toBeTruthy();
  });

  test("a plain question carries no chip, one that came back does", async () => {
    router.show(parse("inbox"));
    entries[0] = entry(1, { kind: "question", target: "question/3", chip: "NEED" });
    entries[1] = entry(2, { kind: "question", target: "question/4", chip: "UNDELIVERED" });
    render(App);
    expect((await screen.findByTestId("entry-1")).textContent).not.toContain("QUESTION");
    expect(screen.getByTestId("entry-2").textContent).toContain("UNDELIVERED");
    expect(screen.getByRole("heading", { name: /the oldest asked/ })).toBeTruthy();
  });
});
