// The bytes of `WhyResponse.cells`: one per row of the snapshot. Start at `decode`.

/** The node of the row fits. */
export const FITS = 255;

/** The node of the row was not evaluated. */
export const NOT_EVALUATED = 254;

/** Reads the bytes from base64, the form of bytes in JSON. */
export function decode(base64: string): Uint8Array {
  const text = atob(base64);
  const cells = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) cells[at] = text.charCodeAt(at);
  return cells;
}

/** Numbers of rows by the value of their cell. */
export function count(cells: Uint8Array): Uint32Array {
  const counts = new Uint32Array(256);
  for (const cell of cells) counts[cell]! += 1;
  return counts;
}
