import { expect, test } from "vitest";
import { pullIn, repositoryIn } from "./names";

test.each([
  ["octo/app", "octo/app"],
  [" octo/app.js ", "octo/app.js"],
  ["https://github.com/octo/app", "github.com octo/app"],
  ["https://www.github.com/octo/app.git", "github.com octo/app"],
  ["https://GitHub.example.org/octo/app/pull/12?x=1#y", "github.example.org octo/app"],
  ["https://ghe.example:8443/octo/app", "ghe.example:8443 octo/app"],
  ["https://me:secret@ghe.example/octo/app", "ghe.example octo/app"],
  ["git@github.com:octo/app.git", "github.com octo/app"],
  ["git@ghe.example:octo/app.git", "ghe.example octo/app"],
  ["ssh://git@ssh.github.com:443/octo/app.git", "github.com octo/app"],
  ["ssh://git@ghe.example:22/octo/app.git", "ghe.example octo/app"],
  ["octo", null],
  ["", null],
  ["octo/", null],
  ["http://github.com/octo/app", null],
  ["octo/a b", null],
  ["../../etc", null],
])("%s names %s", (text, named) => {
  const found = repositoryIn(text);
  const words = found && [...(found.host === null ? [] : [found.host]), found.name].join(" ");
  expect(words).toBe(named);
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
