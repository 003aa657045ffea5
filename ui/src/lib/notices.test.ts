import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Refusal } from "../host";
import { notices } from "./notices.svelte";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  for (const toast of notices.toasts) notices.dismiss(toast.id);
  vi.useRealTimers();
});

const texts = () => notices.toasts.map((toast) => toast.text);

describe("toasts", () => {
  test("a plain confirmation passes by, what can be undone stays for ten seconds", () => {
    notices.done("Entry done", () => undefined);
    notices.done("Copied");
    vi.advanceTimersByTime(4_000);
    expect(texts()).toEqual(["Entry done"]);
    vi.advanceTimersByTime(6_500);
    expect(texts()).toEqual([]);
  });

  test("a newer word takes the place of a passing one and of nothing else", () => {
    notices.failed(
      "Not saved",
      new Refusal({ code: "store", message: "the disk is full", hint: null }),
    );
    notices.done("Task added");
    notices.done("Review started");
    expect(texts()).toEqual(["Not saved: the disk is full", "Review started"]);
  });
});
