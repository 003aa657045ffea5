import { describe, expect, test } from "vitest";
import { age, ago, cap, count, snoozeChoices, span, tickAge, usd } from "./format";

const NOW = Date.parse("2026-03-02T12:00:00Z");
const past = (ms: number): string => new Date(NOW - ms).toISOString();
const MIN = 60_000;

describe("ages are short and never in the wrong direction", () => {
  test.each([
    [0, "now", "just now"],
    [59_000, "now", "just now"],
    [MIN, "1 min", "1 min ago"],
    [59 * MIN, "59 min", "59 min ago"],
    [60 * MIN, "1 h", "1 h ago"],
    [24 * 60 * MIN, "1 d", "1 d ago"],
    [20 * 24 * 60 * MIN, "10 Feb 2026", "on 10 Feb 2026"],
    [-30_000, "now", "just now"],
    [-5 * MIN, "in 5 min", "in 5 min"],
    [-3 * 60 * MIN, "in 3 h", "in 3 h"],
  ])("%i ms", (ms, short, phrase) => {
    expect(age(past(ms), NOW)).toBe(short);
    expect(ago(past(ms), NOW)).toBe(phrase);
  });

  test("a time that cannot be read is unknown, not now", () => {
    expect(age("yesterday-ish", NOW)).toBe("unknown");
  });

  test("a tick is counted in seconds while it is fresh", () => {
    expect(tickAge(past(40_000), NOW)).toBe("40 s ago");
    expect(tickAge(past(5 * MIN), NOW)).toBe("5 min ago");
  });
});

test("an unknown cost is said, and is not zero", () => {
  expect(usd(null)).toBe("cost unknown");
  expect(usd(0)).toBe("$0.00");
  expect(cap(10)).toBe("$10");
  expect(cap(2.5)).toBe("$2.50");
});

test("spans name their two largest parts", () => {
  expect([span(12_000), span(192_000), span(3_840_000), span(-5)]).toEqual([
    "12 s",
    "3 min 12 s",
    "1 h 4 min",
    "0 s",
  ]);
});

test("counts agree with their noun", () => {
  expect([count(1, "finding"), count(0, "finding"), count(2, "entry", "entries")]).toEqual([
    "1 finding",
    "0 findings",
    "2 entries",
  ]);
});

describe("snoozing", () => {
  test("offers an hour, this evening, tomorrow and next week, all ahead of now", () => {
    const now = new Date(2026, 2, 4, 10, 0); // a Wednesday
    const choices = snoozeChoices(now);
    expect(choices.map((one) => one.id)).toEqual(["hour", "evening", "tomorrow", "week"]);
    for (const one of choices) expect(one.until.getTime()).toBeGreaterThan(now.getTime());
    expect(choices[3]?.until).toEqual(new Date(2026, 2, 9, 8, 0));
  });

  test("does not offer an evening that has begun", () => {
    const ids = snoozeChoices(new Date(2026, 2, 4, 18, 30)).map((one) => one.id);
    expect(ids).not.toContain("evening");
  });

  test("on a Monday and on a Sunday next week is the Monday to come", () => {
    expect(snoozeChoices(new Date(2026, 2, 2, 9, 0)).at(-1)?.until).toEqual(
      new Date(2026, 2, 9, 8, 0),
    );
    expect(snoozeChoices(new Date(2026, 2, 8, 9, 0)).at(-1)?.until).toEqual(
      new Date(2026, 2, 9, 8, 0),
    );
  });
});
