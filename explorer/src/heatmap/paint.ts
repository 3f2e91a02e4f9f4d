// Cells as pixels: each a square of its mark's colour, with its letter where it is large enough and a hatching where it is not.
// One pass over one buffer. Start at `paint`.

import { FITS, NOT_EVALUATED } from "./cells";
import type { Layout } from "./layout";
import { FITTING, UNEVALUATED, type Mark } from "./marks";

/** Glyphs of three columns and five lines, a bit a pixel, the uppermost line in the highest bits. */
const GLYPHS: Record<string, number> = {
  A: 0b010_101_111_101_101,
  B: 0b110_101_110_101_110,
  C: 0b011_100_100_100_011,
  D: 0b110_101_101_101_110,
  E: 0b111_100_110_100_111,
  F: 0b111_100_110_100_100,
  G: 0b011_100_101_101_011,
  H: 0b101_101_111_101_101,
  I: 0b111_010_010_010_111,
  J: 0b001_001_001_101_010,
  K: 0b101_101_110_101_101,
  L: 0b100_100_100_100_111,
  M: 0b101_111_111_101_101,
  N: 0b111_101_101_101_101,
  O: 0b010_101_101_101_010,
  P: 0b110_101_110_100_100,
  Q: 0b010_101_101_110_011,
  R: 0b110_101_110_101_101,
  S: 0b011_100_010_001_110,
  T: 0b111_010_010_010_010,
  U: 0b101_101_101_101_111,
  V: 0b101_101_101_101_010,
  W: 0b101_101_111_111_101,
  X: 0b101_101_010_101_101,
  Y: 0b101_101_010_010_010,
  Z: 0b111_001_010_100_111,
  "-": 0b000_000_111_000_000,
};

/** The side of the smallest cell with a letter, in device pixels: a glyph and a pixel around it. */
const LETTERED = 7;

/** The opacity of cells that are not among those looked at, of 255. */
const DIMMED = 56;

/** Whether a pixel of the map belongs to a hatching, by the number of its pattern. */
const HATCHES: (((x: number, y: number) => boolean) | undefined)[] = [
  undefined,
  (x, y) => (x + y) % 4 === 0,
  (x, y) => (x + 400_000 - y) % 4 === 0,
  (_, y) => y % 4 === 0,
  (x) => x % 4 === 0,
  (x, y) => x % 4 === 0 && y % 4 === 0,
];

/** Marks by the value of a cell: those of the funnel's predicates, in its order. */
export function marksOfCells(funnel: readonly { predicate: string }[], marks: ReadonlyMap<string, Mark>): (cell: number) => Mark {
  const byCell = funnel.map(({ predicate }) => marks.get(predicate));
  return (cell) => (cell === FITS ? FITTING : cell === NOT_EVALUATED ? UNEVALUATED : (byCell[cell] ?? UNEVALUATED));
}

/** Draws all cells into the pixels of an image of the layout's size. `only` is the cell's value that is not dimmed; absent: all. */
export function paint(
  pixels: Uint32Array,
  layout: Layout,
  cells: Uint8Array,
  markOf: (cell: number) => Mark,
  only?: number,
): void {
  pixels.fill(0);
  const { order, edge, side, width } = layout;
  for (const block of layout.blocks) {
    for (let at = 0; at < block.count; at += 1) {
      const cell = cells[order[block.start + at]!]!;
      const mark = markOf(cell);
      const alpha = only === undefined || only === cell ? 255 : DIMMED;
      const [colour, shade] = [pixel(mark.colour, alpha), pixel(mark.shade, alpha)];
      const left = block.x + (at % block.columns) * edge;
      const top = block.y + Math.floor(at / block.columns) * edge;
      const hatch = side < LETTERED ? HATCHES[mark.hatch] : undefined;
      for (let y = top; y < top + side; y += 1) {
        if (!hatch) pixels.fill(colour, y * width + left, y * width + left + side);
        else for (let x = left; x < left + side; x += 1) pixels[y * width + x] = hatch(x, y) ? shade : colour;
      }
      if (side >= LETTERED) letter(pixels, width, left, top, side, GLYPHS[mark.letter] ?? 0, pixel(mark.ink, alpha));
    }
  }
}

/** Draws a glyph in the middle of a cell. */
function letter(pixels: Uint32Array, width: number, left: number, top: number, side: number, glyph: number, ink: number): void {
  const size = Math.floor(side / LETTERED);
  const [x0, y0] = [left + ((side - 3 * size) >> 1), top + ((side - 5 * size) >> 1)];
  for (let bit = 0; bit < 15; bit += 1) {
    if (((glyph >> (14 - bit)) & 1) === 0) continue;
    const [x, y] = [x0 + (bit % 3) * size, y0 + Math.floor(bit / 3) * size];
    for (let line = y; line < y + size; line += 1) pixels.fill(ink, line * width + x, line * width + x + size);
  }
}

/** A colour as the bytes of an image have it: red first, in the order of bytes of all machines that browsers run on. */
function pixel(colour: number, alpha: number): number {
  return ((alpha << 24) | ((colour & 255) << 16) | (colour & 0xff00) | (colour >> 16)) >>> 0;
}
