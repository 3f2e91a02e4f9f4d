// Which rows of a long table are in the page: those that are seen, and some more on both sides. Start at windowOf.

/** Rows beyond the edges of what is seen, so that a quick scroll shows no gap. */
const MARGIN = 10;

export interface Rows {
  first: number;
  /** The row after the last one. */
  end: number;
}

/** The rows of a table that are in the page where its box is scrolled to `top`, with all heights in pixels. */
export function windowOf(rowCount: number, rowHeight: number, top: number, height: number): Rows {
  const first = Math.floor(Math.max(0, top) / rowHeight) - MARGIN;
  const end = Math.ceil((Math.max(0, top) + height) / rowHeight) + MARGIN;
  const last = Math.min(rowCount, Math.max(0, end));
  return { first: Math.min(Math.max(0, first), Math.max(0, last)), end: last };
}

/** The row and the column that a key leads to from a cell; null where the key moves nothing. */
export function moved(
  key: string,
  at: { row: number; column: number },
  size: { rows: number; columns: number; page: number },
  ctrl: boolean,
): { row: number; column: number } | null {
  const row = (value: number) => Math.min(size.rows - 1, Math.max(0, value));
  const column = (value: number) => Math.min(size.columns - 1, Math.max(0, value));
  switch (key) {
    case "ArrowDown":
    case "j":
      return { ...at, row: row(at.row + 1) };
    case "ArrowUp":
    case "k":
      return { ...at, row: row(at.row - 1) };
    case "ArrowRight":
      return { ...at, column: column(at.column + 1) };
    case "ArrowLeft":
      return { ...at, column: column(at.column - 1) };
    case "PageDown":
      return { ...at, row: row(at.row + size.page) };
    case "PageUp":
      return { ...at, row: row(at.row - size.page) };
    case "Home":
      return ctrl ? { row: 0, column: 0 } : { ...at, column: 0 };
    case "End":
      return ctrl ? { row: row(size.rows), column: column(size.columns) } : { ...at, column: column(size.columns) };
    default:
      return null;
  }
}
