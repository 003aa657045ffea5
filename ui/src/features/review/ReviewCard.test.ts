import { fireEvent, render, screen, within } from "@testing-library/svelte";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ReviewView } from "../../api/generated/ReviewView";
import { clock } from "../../lib/clock.svelte";
import { script } from "../../testing/host";
import { entry, finding, gate, review } from "../../testing/views";
import ReviewCard from "./ReviewCard.svelte";

afterEach(() => vi.useRealTimers());

function show(change: Partial<ReviewView> = {}) {
  script({});
  const heard = {
    oncopy: vi.fn(),
    onagain: vi.fn(),
    oncancel: vi.fn(),
    ondone: vi.fn(),
    onsnooze: vi.fn(),
    onmark: vi.fn(),
    onedit: vi.fn(),
    onoffer: vi.fn(),
    onbrowser: vi.fn(),
  };
  const made = render(ReviewCard, { review: review(change), entry: entry(1), ...heard });
  return { ...made, ...heard, text: () => made.container.textContent?.replace(/\s+/g, " ") ?? "" };
}

describe("the head of the card", () => {
  test("says the verdict, what the seat said and what lowered it", () => {
    const { text } = show({
      loweredBy: ["no_churn", "pr_hygiene"],
      loweredBecause: ["not read: b.rs"],
    });
    expect(screen.getByTestId("verdict-chip").textContent).toContain("CHANGES");
    expect(text()).toContain("seat said ACCEPTED, lowered by no_churn, pr_hygiene, not read: b.rs");
  });

  test("says nothing of lowering when nothing was lowered", () => {
    const { text } = show({ verdict: "ACCEPTED", loweredBy: [] });
    expect(text()).not.toContain("lowered");
  });

  test("a stale one has a banner instead of the chip", () => {
    show({ stale: true, staleReason: "head_moved", staleText: "the head moved to abc" });
    expect(screen.getByTestId("stale-banner").textContent).toContain("the head moved to abc");
    expect(screen.queryByTestId("verdict-chip")).toBeNull();
  });

  test("turns stale before the reader's eyes", async () => {
    const { rerender } = show();
    expect(screen.queryByTestId("stale-banner")).toBeNull();
    await rerender({ review: review({ stale: true, staleReason: "newer_contract" }) });
    expect(screen.getByTestId("stale-banner").textContent).toContain("newer version");
    expect(screen.queryByTestId("verdict-chip")).toBeNull();
  });

  test.each([
    ["timeout", "It ran longer than the time allowed"],
    ["crashed", "The seat ended without a valid verdict"],
    ["scope_violation", "The seat left its bounds"],
    ["budget", "It reached its budget"],
    ["cancelled", "It was cancelled"],
  ])("an end by %s says so in words", (reason, words) => {
    show({
      state: "ended",
      verdict: "BLOCKED",
      seatVerdict: null,
      reason,
      reasonDetail: "at 20 min",
    });
    const box = screen.getByTestId("reason");
    expect(box.textContent).toContain(words);
    expect(box.textContent).toContain("at 20 min");
  });

  test("an unknown cost is said", () => {
    const { text } = show({ cost: { usd: null, budgetUsd: 1.5, tokens: 1, turns: 1 } });
    expect(text()).toContain("cost unknown");
  });
});

describe("gates", () => {
  test("stand failed, undecided, passed, not applicable", () => {
    show({
      gates: [
        gate("ci", "pass"),
        gate("validator", "notApplicable"),
        gate("no_churn", "undecided"),
        gate("no_secrets", "fail"),
        gate("scope", "pass"),
      ],
    });
    const rows = screen.getAllByTestId(/^gate-/).map((row) => row.dataset.testid);
    expect(rows).toEqual([
      "gate-no_secrets",
      "gate-no_churn",
      "gate-ci",
      "gate-scope",
      "gate-validator",
    ]);
  });

  test("show their evidence on demand only", async () => {
    show({
      gates: [
        {
          ...gate("no_secrets", "fail"),
          evidence: { items: [{ kind: "file", path: "data/x.txt", line: 12, note: "ghp_…" }] },
        },
        gate("ci", "pass"),
      ],
    });
    expect(screen.queryByText("data/x.txt:12")).toBeNull();
    const more = screen.getByRole("button", { name: "Evidence of no_secrets" });
    expect(more.getAttribute("aria-expanded")).toBe("false");
    await fireEvent.click(more);
    expect(screen.getByText("data/x.txt:12")).toBeTruthy();
    expect(more.getAttribute("aria-expanded")).toBe("true");
    expect(screen.queryByRole("button", { name: "Evidence of ci" })).toBeNull();
  });

  test("offer no link that is not https", async () => {
    show({
      gates: [
        {
          ...gate("ci", "fail"),
          evidence: {
            items: [
              {
                kind: "check",
                name: "lint",
                app: "ci",
                id: 1,
                attempt: 1,
                conclusion: "failure",
                url: "javascript:alert(1)",
              },
              {
                kind: "check",
                name: "test",
                app: "ci",
                id: 2,
                attempt: 1,
                conclusion: "failure",
                url: "https://example.org/2",
              },
            ],
          },
        },
      ],
    });
    await fireEvent.click(screen.getByTestId("evidence-ci"));
    expect(screen.getAllByRole("button", { name: "open" })).toHaveLength(1);
  });
});

describe("findings", () => {
  test("show place, excerpt with the cited line marked, why and check", () => {
    const { container } = show({
      findings: [
        finding({
          excerpt: [
            { number: 3, text: "  let a = 1;", cited: false, added: false },
            { number: 4, text: "\tdrop(a); // gone", cited: true, added: true },
          ],
        }),
      ],
    });
    const card = within(screen.getByTestId("finding-1"));
    expect(card.getByText("a.sql:4")).toBeTruthy();
    expect(card.getByText("Every answer is lost.")).toBeTruthy();
    expect(screen.getByTestId("finding-1").textContent).toContain("the first tick answers 304");
    const codes = [...container.querySelectorAll("code")].map((code) => code.textContent);
    expect(codes).toEqual(["  let a = 1;", "\tdrop(a); // gone"]);
    expect(container.querySelector("li.cited code")?.textContent).toBe("\tdrop(a); // gone");
  });

  test.each([
    [{ state: "new" }, "NEW"],
    [{ state: "open", since: 6 }, "OPEN SINCE 6"],
    [{ state: "fixed", since: 5 }, "FIXED"],
    [{ state: "answered" }, "ANSWERED"],
    [{ state: "open", since: 6, mark: "wont_fix" }, "WON'T FIX"],
    [{ state: "open", since: 6, mark: "answered" }, "ANSWERED"],
  ])("%o wears %s", (change, word) => {
    show({ findings: [finding(change)] });
    expect(screen.getByTestId("finding-1").querySelector(".chip")?.textContent).toContain(word);
  });

  test("can be marked, and a mark can be taken back", async () => {
    const { onmark, rerender } = show();
    await fireEvent.click(screen.getByTestId("finding-1-mark"));
    await fireEvent.click(screen.getByRole("menuitem", { name: "Won't fix" }));
    expect(onmark).toHaveBeenCalledWith("f1", "wont_fix");
    await rerender({ review: review({ findings: [finding({ mark: "wont_fix" })] }) });
    await fireEvent.click(screen.getByTestId("finding-1-mark"));
    await fireEvent.click(screen.getByRole("menuitem", { name: "Take the mark back" }));
    expect(onmark).toHaveBeenLastCalledWith("f1", "clear");
  });
});

describe("text of others", () => {
  const HOSTILE = '<img src=x onerror="alert(1)"><script>1</script>\u202e\u200b';

  test("is text wherever it stands, with its hidden characters shown", async () => {
    const { container, text } = show({
      title: HOSTILE,
      branch: HOSTILE,
      summary: HOSTILE,
      reason: "crashed",
      reasonDetail: HOSTILE,
      stale: true,
      loweredBecause: [HOSTILE],
      gates: [
        {
          ...gate("ci", "fail", HOSTILE),
          evidence: { items: [{ kind: "fact", name: HOSTILE, value: HOSTILE }] },
        },
      ],
      findings: [
        finding({
          title: HOSTILE,
          file: HOSTILE,
          why: HOSTILE,
          check: HOSTILE,
          excerpt: [{ number: 1, text: HOSTILE, cited: true, added: true }],
        }),
      ],
      coverage: {
        complete: false,
        excluded: [{ file: HOSTILE, why: HOSTILE }],
        unread: [{ file: HOSTILE, from: 1, to: 2 }],
      },
    });
    await fireEvent.click(screen.getByTestId("evidence-ci"));
    expect(container.querySelector("img, script")).toBeNull();
    expect(text()).not.toMatch(/[\u202e\u200b]/);
    expect(text().match(/U\+202EU\+200B/g)?.length).toBeGreaterThan(10);
  });
});

describe("a review under way", () => {
  test("shows its phase, its steps and its cost, and can be cancelled but not copied", async () => {
    const { oncancel } = show({
      state: "running",
      verdict: null,
      phase: "Reading src/lib.rs",
      steps: [{ at: "2026-03-01T10:00:06Z", kind: "tool", text: "Read src/lib.rs" }],
      cost: { usd: 0.12, budgetUsd: 1.5, tokens: 900, turns: 2 },
      endedAt: null,
    });
    const progress = screen.getByTestId("review-progress").textContent ?? "";
    expect(progress).toContain("Reading src/lib.rs");
    expect(progress).toContain("$0.12 of $1.50");
    expect(progress).toContain("Read src/lib.rs");
    expect(screen.queryByTestId("copy-findings")).toBeNull();
    await fireEvent.click(screen.getByTestId("cancel-review"));
    expect(oncancel).toHaveBeenCalledOnce();
  });

  test("its elapsed time ticks, by the core's clock", async () => {
    vi.useFakeTimers({ now: Date.parse("2026-03-01T11:00:00Z") });
    const ticking = clock.seconds();
    // The window's clock is an hour ahead of the core's; 65 s have passed there.
    show({
      state: "running",
      verdict: null,
      startedAt: "2026-03-01T10:00:00Z",
      now: "2026-03-01T10:01:05Z",
      endedAt: null,
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(screen.getByTestId("elapsed").textContent).toBe("1 min 5 s");
    await vi.advanceTimersByTimeAsync(2000);
    expect(screen.getByTestId("elapsed").textContent).toBe("1 min 7 s");
    ticking();
  });

  test("held, it says what it waits for and what can be done", async () => {
    const { onoffer } = show({
      state: "held",
      verdict: null,
      gates: [gate("ci", "undecided", "sign in to GitHub"), gate("scope", "pass")],
      offers: [{ code: "forge_none", label: "Judge without GitHub", hint: "for this workspace" }],
      endedAt: null,
    });
    expect(screen.getByTestId("held").textContent).toContain("sign in to GitHub");
    await fireEvent.click(screen.getByTestId("offer-forge_none"));
    expect(onoffer).toHaveBeenCalledWith("forge_none");
    expect(screen.getByTestId("state-chip").textContent).toContain("HELD");
  });
});
