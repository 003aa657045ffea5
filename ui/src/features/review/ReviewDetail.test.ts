import { fireEvent, render, screen } from "@testing-library/svelte";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { asking } from "../../lib/ask.svelte";
import { notices } from "../../lib/notices.svelte";
import { script } from "../../testing/host";
import { review } from "../../testing/views";
import ReviewDetail from "./ReviewDetail.svelte";

beforeEach(() => {
  for (const toast of notices.toasts) notices.dismiss(toast.id);
});

function show(): void {
  render(ReviewDetail, { id: 7, entry: undefined, ondone: () => {}, onsnooze: () => {} });
}

describe("a shown review", () => {
  test("copies what the core wrote, to the letter", async () => {
    const host = script({
      review_show: () => review(),
      review_copy: () => ({ text: "task 42 …\n> quoted" }),
    });
    show();
    await fireEvent.click(await screen.findByTestId("copy-findings"));
    await vi.waitFor(() => expect(host.copied).toEqual(["task 42 …\n> quoted"]));
    expect(notices.toasts.at(-1)?.text).toBe("Copied 1 finding");
  });

  test("is fetched again on its own topic and turns stale aloud", async () => {
    let stale = false;
    const host = script({
      review_show: () => review({ stale, staleText: stale ? "the head moved" : null }),
    });
    show();
    await screen.findByTestId("verdict-chip");
    host.say("review:8");
    expect(host.asked("review_show")).toHaveLength(1);
    stale = true;
    host.say("review:7");
    expect((await screen.findByTestId("stale-banner")).textContent).toContain("the head moved");
    expect(notices.assertive).toContain("Review 7 is stale");
  });

  test("asks once, naming task, commit and budget, before money is spent", async () => {
    const host = script({
      review_show: () => review(),
      review_start: () => ({ review: 8, task: 42, sha: review().sha }),
    });
    show();
    await fireEvent.click(await screen.findByTestId("review-again"));
    await vi.waitFor(() => expect(asking.question).not.toBeNull());
    expect(asking.question?.facts.map((fact) => fact.value)).toEqual([
      "#42 Fix the cache",
      "9f31c07",
      "at most $1.50",
    ]);
    asking.answer(false);
    await Promise.resolve();
    expect(host.asked("review_start")).toEqual([]);

    await fireEvent.click(screen.getByTestId("review-again"));
    await vi.waitFor(() => expect(asking.question).not.toBeNull());
    asking.answer(true);
    await vi.waitFor(() => expect(host.asked("review_start")).toEqual([{ task: 42 }]));
  });

  test("that is not there says so", async () => {
    script({});
    show();
    expect((await screen.findByRole("alert")).textContent).toContain("cannot be read");
  });
});
