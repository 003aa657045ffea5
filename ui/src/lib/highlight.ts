// Colours for a line of code: strings, notes and the words most languages share. It decides
// nothing; a wrong colour is a wrong colour.

export type Token = { kind: "plain" | "word" | "text" | "note"; text: string };

const WORDS = new Set(
  (
    "abstract alter and as async await begin bool break by case catch class const continue create def default " +
    "defer delete do drop elif else end enum export extends extern fn for foreign from func function go if impl " +
    "implements import in insert int interface into is join key let loop match mod module move mut namespace new " +
    "nil none not null on or package pass primary private protected pub public raise references return self set " +
    "static string struct super switch table then this throw trait true false try type typeof union unsafe update " +
    "use using values var void where while with yield select"
  ).split(" "),
);
const HASH_NOTES =
  /\.(py|rb|sh|bash|zsh|ya?ml|toml|conf|cfg|ini|r|pl|nix)$|(^|\/)(Makefile|Dockerfile)$/;
const SQL = /\.sql$/i;
const PROSE = /\.(md|txt|rst|adoc)$/i;

const C_LIKE =
  /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(\/\/.*|\/\*.*?(?:\*\/|$))|([A-Za-z_]\w*)/g;
const HASHED = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(#.*)|([A-Za-z_]\w*)/g;
const DASHED = /('(?:[^']|'')*')|(--.*)|([A-Za-z_]\w*)/g;

/** Past this length a line is not read by a person, and not worth the work. */
const LONGEST = 2000;

/** Cuts one line into tokens; joined, they are the line. */
export function highlight(line: string, file: string): Token[] {
  if (PROSE.test(file) || line.length > LONGEST) return [{ kind: "plain", text: line }];
  const grammar = SQL.test(file) ? DASHED : HASH_NOTES.test(file) ? HASHED : C_LIKE;
  const tokens: Token[] = [];
  let from = 0;
  for (const found of line.matchAll(grammar)) {
    const [whole, text, note, word] = found;
    if (word !== undefined && !WORDS.has(SQL.test(file) ? word.toLowerCase() : word)) continue;
    if (found.index > from) tokens.push({ kind: "plain", text: line.slice(from, found.index) });
    const kind = text !== undefined ? "text" : note !== undefined ? "note" : "word";
    tokens.push({ kind, text: whole });
    from = found.index + whole.length;
  }
  if (from < line.length) tokens.push({ kind: "plain", text: line.slice(from) });
  return tokens;
}
