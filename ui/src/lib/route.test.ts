import { describe, expect, test } from "vitest";
import { hash, parse, type Route } from "./route.svelte";

describe("a deep link and a hash say the same", () => {
  const cases: [string, Route, string][] = [
    ["steward://review/7", { page: "inbox", review: 7 }, "#/review/7"],
    ["review/7", { page: "inbox", review: 7 }, "#/review/7"],
    ["#/review/7?from=mail", { page: "inbox", review: 7 }, "#/review/7"],
    ["task/42", { page: "tasks", task: 42, review: null }, "#/task/42"],
    ["#/task/42/review/6", { page: "tasks", task: 42, review: 6 }, "#/task/42/review/6"],
    ["#/tasks", { page: "tasks", task: null, review: null }, "#/tasks"],
    ["settings/config", { page: "settings", section: "config" }, "#/settings/config"],
    ["settings/nuclear", { page: "settings", section: null }, "#/settings"],
  ];
  test.each(cases)("%s", (target, route, written) => {
    expect(parse(target)).toEqual(route);
    expect(hash(route)).toBe(written);
    expect(parse(written)).toEqual(route);
  });

  test.each([
    "",
    "nowhere",
    "review/../../etc",
    "review/-1",
    "review/1e9",
    "review/0",
    "review/99999999999",
  ])("%s leads to the inbox and opens nothing", (target) => {
    expect(parse(target)).toEqual({ page: "inbox", review: null });
  });
});
