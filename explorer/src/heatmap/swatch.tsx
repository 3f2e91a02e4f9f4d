// The mark of a predicate beside its name. Start at Swatch.

import { css, type Mark } from "./marks";

/** A square in the colours of the mark, with its letter. */
export function Swatch({ mark }: { mark: Mark }) {
  return (
    <span class="swatch" aria-hidden="true" style={{ background: css(mark.colour), color: css(mark.ink) }}>{mark.letter}</span>
  );
}
