import { expect, test } from "vitest";
import { highlight } from "./highlight";

const LINES: [string, string][] = [
  ["a.rs", 'let x = "a // b"; // note'],
  ["a.sql", "delete from t where note = 'it''s' -- gone"],
  ["a.py", "def f(): return '#' # note"],
  ["a.md", 'let it be "plain"'],
  ["a.ts", '"never closed'],
  ["a.bin", "\u202e\u0000 class"],
  ["a.rs", ""],
];

test.each(LINES)("the tokens of %s are the line, to the letter", (file, line) => {
  expect(
    highlight(line, file)
      .map((token) => token.text)
      .join(""),
  ).toBe(line);
});

test("a note inside a text is text", () => {
  expect(highlight('"a // b" // c', "a.rs")).toEqual([
    { kind: "text", text: '"a // b"' },
    { kind: "plain", text: " " },
    { kind: "note", text: "// c" },
  ]);
});

test("a very long line is not searched", () => {
  const line = "if ".repeat(5000);
  expect(highlight(line, "a.rs")).toEqual([{ kind: "plain", text: line }]);
});
