import { describe, expect, test } from "vitest";
import { pieces, plain } from "./foreign";

describe("foreign text shows what would be hidden", () => {
  test.each([
    ["bidi override", "a\u202eb", "aU+202Eb"],
    ["bidi isolate", "\u2066x\u2069", "U+2066xU+2069"],
    ["zero width space", "to\u200bken", "toU+200Bken"],
    ["escape sequence", "\u001b[31mred", "U+001B[31mred"],
    ["byte order mark", "\ufeffa", "U+FEFFa"],
    ["tag characters", "a\u{e0041}b", "aU+E0041b"],
    ["null", "a\u0000", "aU+0000"],
    ["lone surrogate", "a\ud800b", "aU+D800b"],
    ["soft hyphen", "pass\u00adword", "passU+00ADword"],
  ])("%s", (_, text, shown) => {
    expect(plain(text)).toBe(shown);
  });

  test.each([
    ["line breaks and tabs", "a\n\tb"],
    ["other scripts", "héllo 日本 עברית"],
    ["emoji", "ship it 🚀"],
    ["markup", "<b>&amp;</b>"],
  ])("%s stay as they are", (_, text) => {
    expect(pieces(text)).toEqual([{ text, hidden: false }]);
  });

  test("nothing of an empty text is shown", () => {
    expect(pieces("")).toEqual([]);
  });
});
