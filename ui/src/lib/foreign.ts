// Text someone else wrote, cut where a reader would see nothing or something false.

/** Zero-width, bidi, tag, variation and control characters; line breaks and tabs are layout. */
const HIDDEN: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xe0000, 0xe0fff],
];

export type Piece = { text: string; hidden: boolean };

function isHidden(code: number): boolean {
  return HIDDEN.some(([from, to]) => code >= from && code <= to);
}

/** Splits a text into what shows as it is and what shows as its code point. */
export function pieces(text: string): Piece[] {
  const out: Piece[] = [];
  let plainly = "";
  const flush = (): void => {
    if (plainly !== "") out.push({ text: plainly, hidden: false });
    plainly = "";
  };
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    // A lone surrogate half is no character at all.
    const half = code >= 0xd800 && code <= 0xdfff;
    if (!half && !isHidden(code)) {
      plainly += char;
      continue;
    }
    flush();
    const name = code.toString(16).toUpperCase().padStart(4, "0");
    out.push({ text: `U+${name}`, hidden: true });
  }
  flush();
  return out;
}

/** The same as one string, for titles and labels. */
export function plain(text: string): string {
  return pieces(text)
    .map((piece) => piece.text)
    .join("");
}
