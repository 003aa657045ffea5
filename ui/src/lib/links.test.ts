import { expect, test } from "vitest";
import { webPage } from "./links";

test.each(["https://github.com/octo/app/pull/12", "https://github.example.org:8443/x"])(
  "%s may be opened",
  (url) => {
    expect(webPage(url)).toBe(url);
  },
);

test.each([
  null,
  "",
  "http://github.com/octo/app",
  "javascript:alert(1)",
  "https://octo@github.com/",
  "https://octo:pw@github.com/",
  "file:///etc/passwd",
  "steward://review/7",
  "github.com/octo",
])("%s is no link", (url) => {
  expect(webPage(url)).toBeNull();
});
