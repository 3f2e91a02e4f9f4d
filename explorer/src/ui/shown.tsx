// Texts that others have written: names, labels, reasons, faults. They are shown letter by letter and never as markup.
//
// Control characters, characters that change the direction of the text or have no width, and lone surrogates are shown as a mark with
// their number, so that nothing hides and nothing reorders what stands beside it. Start at Shown.

/** Controls but for the line feed and the tab, formats (direction, joiners, byte order mark, tags), separators of lines, lone surrogates. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Cs}/gu;

/** Texts of seen letters alone, as nearly all names are. */
const PLAIN = /^[ -~]*$/;

export interface Piece { text: string; isMark: boolean }

/** The text in pieces: as it is, and marks such as `U+202E`. */
export function pieces(text: string): Piece[] {
  if (PLAIN.test(text)) return [{ text, isMark: false }];
  const found: Piece[] = [];
  let end = 0;
  for (const unseen of text.matchAll(UNSEEN)) {
    if (unseen.index > end) found.push({ text: text.slice(end, unseen.index), isMark: false });
    const number = unseen[0].codePointAt(0) ?? 0;
    found.push({ text: `U+${number.toString(16).toUpperCase().padStart(4, "0")}`, isMark: true });
    end = unseen.index + unseen[0].length;
  }
  if (end < text.length || found.length === 0) found.push({ text: text.slice(end), isMark: false });
  return found;
}

/** The text with its marks, for attributes and clipboards. */
export function visible(text: string): string {
  return pieces(text)
    .map((piece) => (piece.isMark ? `[${piece.text}]` : piece.text))
    .join("");
}

/** A document of JSON with escapes in the place of what is not seen; it stands for the same values. */
export function escaped(json: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(UNSEEN, (unseen) => unseen.split("").map(escape).join(""));
}

/** A link whose text is of others. */
export function Link({ to, text, ...rest }: { to: string; text: string; tabIndex?: number; title?: string }) {
  return <a href={to} {...rest}><Shown text={text} /></a>;
}

/** A text of others; isolated, so that right-to-left letters in it move nothing outside of it. */
export function Shown({ text }: { text: string }) {
  const parts = pieces(text);
  return <bdi>{parts.map((piece) => (piece.isMark ? <span class="mark">{piece.text}</span> : piece.text))}</bdi>;
}
