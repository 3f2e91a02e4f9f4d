// Tables as CSV (RFC 4180) that a spreadsheet opens without running anything in it. Start at csv.

/** Beginnings that a spreadsheet takes for a formula; a tab or a carriage return before one is skipped by some. */
const FORMULA = /^[=+\-@\t\r]/;

/** One cell: quoted where it has to be, and with an apostrophe before what would be a formula. */
export function cell(value: string | number): string {
  // A number of ours is no formula, even below zero.
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return text !== value || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A table with its titles, in lines that end with CR LF. */
export function csv(titles: string[], rows: (string | number)[][]): string {
  return [titles, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
