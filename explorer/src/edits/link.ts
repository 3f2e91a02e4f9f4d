// Edits in the query of a link: `e=EDIT`, once for each, in their order. A link that holds anything else is about no what-if:
// none of its edits is applied, and the first that is wrong is named. Start at `fromQuery`.

import { EditError, parse, print, type Edit } from "./grammar";
import { EDITS, LINK_BYTES } from "./limits";

/** The edits of a link, or why none of them is applied. */
export type Linked = { edits: Edit[]; refused?: undefined } | { edits: []; refused: string };

/** Reads the edits of a query. */
export function fromQuery(query: URLSearchParams): Linked {
  const texts = query.getAll("e");
  if (toQuery(texts).length > LINK_BYTES) {
    return { edits: [], refused: `the edits of the link are longer than ${LINK_BYTES} bytes` };
  }
  if (texts.length > EDITS) return { edits: [], refused: `the link has ${texts.length} edits, ${EDITS} at most` };
  const edits: Edit[] = [];
  for (const [at, text] of texts.entries()) {
    try {
      edits.push(parse(text));
    } catch (error) {
      if (!(error instanceof EditError)) throw error;
      return { edits: [], refused: `edit ${at + 1} of the link: ${error.message}` };
    }
  }
  return { edits };
}

/** Writes edits as a query; empty where there are none. Its length is that in bytes, since it is ASCII. */
export function toQuery(edits: readonly (Edit | string)[]): string {
  return edits.map((edit) => `e=${encodeURIComponent(typeof edit === "string" ? edit : print(edit))}`).join("&");
}

/** Why edits do not go into a link; absent where they do. */
export function tooLong(edits: readonly Edit[]): string | undefined {
  if (edits.length > EDITS) return `${edits.length} edits, and a link holds ${EDITS}`;
  const bytes = toQuery(edits).length;
  return bytes > LINK_BYTES ? `these edits take ${bytes} bytes, and a link holds ${LINK_BYTES}` : undefined;
}
