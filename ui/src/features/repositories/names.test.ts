import { expect, test } from "vitest";
import { nameIn, pullIn } from "./names";

test.each([
  ["octo/app", "octo/app"],
  [" octo/app.js ", "octo/app.js"],
  ["https://github.com/octo/app", "octo/app"],
  ["https://github.com/octo/app.git", "octo/app"],
  ["https://github.example.org/octo/app/pull/12?x=1#y", "octo/app"],
  ["git@github.com:octo/app.git", "octo/app"],
  ["ssh://git@github.com/octo/app.git", "octo/app"],
  ["octo", null],
  ["", null],
  ["octo/", null],
  ["http://github.com/octo/app", null],
  ["octo/a b", null],
  ["../../etc", null],
])("%s names %s", (text, name) => {
  expect(nameIn(text)).toBe(name);
});

test.each([
  ["octo/app#12", { name: "octo/app", number: 12 }],
  ["https://github.com/octo/app/pull/12", { name: "octo/app", number: 12 }],
  ["https://github.com/octo/app/pull/12/files?w=1", { name: "octo/app", number: 12 }],
  ["octo/app#0", null],
  ["octo/app", null],
  ["#12", null],
  ["https://github.com/octo/app/issues/12", null],
])("%s is the pull %j", (text, pull) => {
  expect(pullIn(text)).toEqual(pull);
});
