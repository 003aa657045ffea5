import { describe, expect, test } from "vitest";
import { entryTarget, hash, parse, parseEntry, type Route } from "./route.svelte";

const at = (
  repo: string | null,
  pull: number | null = null,
  review: number | null = null,
): Route => ({ page: "repositories", repo, pull, review });

describe("a deep link and a hash say the same", () => {
  const cases: [string, Route, string][] = [
    ["steward://review/7", { page: "inbox", open: { kind: "review", id: 7 } }, "#/review/7"],
    ["review/7", { page: "inbox", open: { kind: "review", id: 7 } }, "#/review/7"],
    ["#/review/7?from=mail", { page: "inbox", open: { kind: "review", id: 7 } }, "#/review/7"],
    ["task/42", { page: "tasks", task: 42, review: null }, "#/task/42"],
    ["#/task/42/review/6", { page: "tasks", task: 42, review: 6 }, "#/task/42/review/6"],
    ["#/tasks", { page: "tasks", task: null, review: null }, "#/tasks"],
    ["effect/3", { page: "inbox", open: { kind: "effect", id: 3 } }, "#/effect/3"],
    ["inbox/powers", { page: "inbox", open: { kind: "powers" } }, "#/inbox/powers"],
    ["question/3", { page: "inbox", open: { kind: "question", id: 3 } }, "#/question/3"],
    ["steward://roster", { page: "roster", member: null }, "#/roster"],
    ["roster/watch", { page: "roster", member: null }, "#/roster"],
    [
      "roster/coord two@studio",
      { page: "roster", member: "coord two@studio" },
      "#/roster/coord%20two%40studio",
    ],
    [
      "roster/100%/a@studio",
      { page: "roster", member: "100%/a@studio" },
      "#/roster/100%25%2Fa%40studio",
    ],
    [
      "#/inbox/roster/coord%40studio",
      { page: "inbox", open: { kind: "roster", of: "coord@studio" } },
      "#/inbox/roster/coord%40studio",
    ],
    ["#/repositories", at(null), "#/repositories"],
    ["repository/octo/app.js", at("octo/app.js"), "#/repository/octo/app.js"],
    [
      "repository/octo/app?item=pr-12",
      { page: "inbox", open: { kind: "item", repo: "octo/app", of: "pr", number: 12 } },
      "#/inbox/item/octo/app/pr-12",
    ],
    [
      "repository/octo/app?item=issue-9",
      { page: "inbox", open: { kind: "item", repo: "octo/app", of: "issue", number: 9 } },
      "#/inbox/item/octo/app/issue-9",
    ],
    ["#/inbox/item/octo/app/pr-0", { page: "inbox", open: null }, "#/inbox"],
    ["#/inbox/item/octo/../pr-1", { page: "inbox", open: null }, "#/inbox"],
    ["repository/octo/app?item=fault", at("octo/app"), "#/repository/octo/app"],
    ["steward://pr/octo/app/12", at("octo/app", 12), "#/repository/octo/app/pull/12"],
    [
      "#/repository/octo/app/pull/12/review/7",
      at("octo/app", 12, 7),
      "#/repository/octo/app/pull/12/review/7",
    ],
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
    "effect/x",
    "effect",
    "inbox/nuclear",
    "inbox/roster",
    "question/x",
  ])("%s leads to the inbox and opens nothing", (target) => {
    expect(parse(target)).toEqual({ page: "inbox", open: null });
  });
});

test.each(["repository/../etc", "repository/octo", "pr/octo/<b>/1"])(
  "%s names no repository, and the list is shown",
  (target) => {
    expect(parse(target)).toEqual(at(null));
  },
);

test.each([
  "review/7",
  "effect/3",
  "question/3",
  "roster/empty",
  "roster/a/50%@studio",
  "settings/powers",
])("the entry of %s opens beside the inbox's list", (target) => {
  const to = parseEntry(target);
  expect(to.page === "inbox" && to.open && entryTarget(to.open)).toBe(target);
});
