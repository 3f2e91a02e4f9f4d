// Places of cells: rows in blocks by the value of a label, in each block sorted by obstacle. All lengths are device pixels.
// Start at `layout`; `cellAt` and `step` go from a place to a cell.

import { FITS } from "./cells";

/** Blocks at most; all further values of the label share the last one. The API's own limit of groups. */
const BLOCKS = 200;

/** Edges of a cell with its gap, in CSS pixels, the largest first: below 3 there is no gap. */
const EDGES = [28, 22, 18, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

/** Height of all cells that the map keeps to as long as they can be smaller, in CSS pixels: cause and map fit on one screen. */
const HEIGHT = 340;

/** Room of a block's heading above it, in CSS pixels. */
const HEADING = 20;

/** Least room of a block from left to right, in CSS pixels: its heading holds the name of a zone. */
const LEAST_WIDTH = 132;

/** Space between blocks, in CSS pixels. */
const SPACE = 12;

/** The values of a label by row; `codes` are indices in `values`, and null is for rows without the label. */
export interface Groups { values: readonly (string | null)[]; codes: ArrayLike<number> }

/** Rows with one value of the label. */
export interface Block {
  /** The value; null for rows without the label; absent where rows are not grouped. */
  value?: string | null;
  /** Number of values that share this block; 0 for a block of one value. */
  rest: number;
  /** Index of its first row in `order`. */
  start: number;
  /** Number of its rows. */
  count: number;
  x: number;
  y: number;
  /** Number of cells side by side. */
  columns: number;
}

export interface Layout {
  /** Rows in the order in which they are drawn, block by block. */
  order: Uint32Array;
  blocks: Block[];
  /** Distance from a cell to the next. */
  edge: number;
  /** Length of the side of a cell: `edge` less the gap. */
  side: number;
  width: number;
  height: number;
  /** Device pixels of a CSS pixel. */
  scale: number;
}

/** Places all cells in the given width, in CSS pixels. */
export function layout(cells: Uint8Array, groups: Groups | undefined, width: number, scale: number): Layout {
  const { order, blocks } = sorted(cells, groups);
  const edge = EDGES.find((edge) => {
    const { height, headings } = placed(order, blocks, width, edge, scale);
    return height - headings <= HEIGHT * scale;
  });
  return placed(order, blocks, width, edge ?? 1, scale).layout;
}

/** The index in `order` of the cell at a place; absent beside cells. */
export function cellAt(layout: Layout, x: number, y: number): number | undefined {
  const { edge } = layout;
  for (const block of layout.blocks) {
    const [column, line] = [Math.floor((x - block.x) / edge), Math.floor((y - block.y) / edge)];
    if (column < 0 || column >= block.columns || line < 0) continue;
    const at = line * block.columns + column;
    if (at < block.count) return block.start + at;
  }
  return undefined;
}

/** The place of a cell by its index in `order`: its left upper corner. */
export function placeOf(layout: Layout, at: number): { x: number; y: number } {
  const block = blockOf(layout, at);
  const within = at - block.start;
  return { x: block.x + (within % block.columns) * layout.edge, y: block.y + Math.floor(within / block.columns) * layout.edge };
}

/** The cell that a key leads to, as an index in `order`; absent for other keys. */
export function step(layout: Layout, at: number, key: string): number | undefined {
  const last = layout.order.length - 1;
  const block = blockOf(layout, at);
  const index = layout.blocks.indexOf(block);
  switch (key) {
    case "ArrowLeft":
      return Math.max(at - 1, 0);
    case "ArrowRight":
      return Math.min(at + 1, last);
    case "ArrowUp":
      return at - block.columns >= block.start ? at - block.columns : Math.max(block.start - 1, 0);
    case "ArrowDown":
      return Math.min(at + block.columns, block.start + block.count, last);
    case "PageUp":
      return at > block.start ? block.start : (layout.blocks[index - 1]?.start ?? 0);
    case "PageDown":
      return layout.blocks[index + 1]?.start ?? last;
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}

/** The block of a cell by its index in `order`. */
export function blockOf(layout: Layout, at: number): Block {
  const { blocks } = layout;
  return blocks.find((block) => at < block.start + block.count) ?? blocks[blocks.length - 1]!;
}

/** Sorts rows by block, then by obstacle: nodes that fit first, then in policy order. */
function sorted(cells: Uint8Array, groups: Groups | undefined): { order: Uint32Array; blocks: Omit<Block, "x" | "y" | "columns">[] } {
  const codes = groups?.codes;
  const values = groups?.values ?? [];
  const sizes = new Map<number, number>();
  for (let row = 0; row < cells.length; row += 1) {
    const code = codes?.[row] ?? -1;
    sizes.set(code, (sizes.get(code) ?? 0) + 1);
  }
  const named = (code: number): string => values[code] ?? "";
  const bySize = [...sizes].sort(([a, most], [b, more]) => more - most || (named(a) < named(b) ? -1 : 1));
  const blockOf = new Map(bySize.map(([code], at) => [code, bySize.length > BLOCKS ? Math.min(at, BLOCKS - 1) : at]));
  const blocks: Omit<Block, "x" | "y" | "columns">[] = [];
  for (const [code, count] of bySize) {
    const at = blockOf.get(code)!;
    const known = blocks[at];
    if (known) {
      known.count += count;
      known.rest = known.rest ? known.rest + 1 : 2;
      known.value = null;
    } else {
      blocks.push({ ...(groups ? { value: values[code] ?? null } : {}), rest: 0, start: 0, count });
    }
  }
  // A counting sort: one bucket per block and cell, which keeps the order of rows.
  const bucket = (row: number): number => blockOf.get(codes?.[row] ?? -1)! * 256 + ((cells[row]! + 256 - FITS) & 255);
  const starts = new Uint32Array(blocks.length * 256 + 1);
  for (let row = 0; row < cells.length; row += 1) starts[bucket(row) + 1]! += 1;
  for (let at = 1; at < starts.length; at += 1) starts[at]! += starts[at - 1]!;
  blocks.forEach((block, at) => (block.start = starts[at * 256]!));
  const order = new Uint32Array(cells.length);
  for (let row = 0; row < cells.length; row += 1) {
    const of = bucket(row);
    order[starts[of]!] = row;
    starts[of]! += 1;
  }
  return { order, blocks };
}

/** Puts blocks beside and below each other. `headings` is the part of the height that headings and spaces take. */
function placed(
  order: Uint32Array,
  blocks: Omit<Block, "x" | "y" | "columns">[],
  cssWidth: number,
  cssEdge: number,
  scale: number,
): { layout: Layout; height: number; headings: number } {
  const edge = Math.max(1, Math.round(cssEdge * scale));
  const side = cssEdge >= 3 ? edge - Math.max(1, Math.floor(scale)) : edge;
  const [width, space] = [Math.max(Math.floor(cssWidth * scale), edge), Math.round(SPACE * scale)];
  const heading = blocks.length > 1 || blocks[0]?.value !== undefined ? Math.round(HEADING * scale) : 0;
  const most = Math.max(1, Math.floor(width / edge));
  let [x, y, lowest, headings] = [0, 0, 0, heading];
  const done = blocks.map((block): Block => {
    // Blocks of one shelf have about one height, and twice as much width.
    const columns = Math.min(most, blocks.length === 1 ? most : Math.ceil(Math.sqrt(block.count * 2)));
    const room = Math.max(columns * edge, Math.min(width, Math.round(LEAST_WIDTH * scale)));
    if (x > 0 && x + room > width) {
      [x, y] = [0, lowest + space];
      headings += heading + space;
    }
    const place = { ...block, x, y: y + heading, columns };
    x += room + space;
    lowest = Math.max(lowest, place.y + Math.ceil(block.count / columns) * edge);
    return place;
  });
  const height = Math.max(lowest, 1);
  return { layout: { order, blocks: done, edge, side, width, height, scale }, height, headings };
}
