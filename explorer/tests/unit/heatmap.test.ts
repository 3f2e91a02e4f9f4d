// The heat map without a browser: bytes to cells, cells to places, places to pixels and back. Start at the first test.

import assert from "node:assert/strict";
import { test } from "node:test";

import { count, decode, FITS, NOT_EVALUATED } from "../../src/heatmap/cells";
import { blockOf, cellAt, layout, placeOf, step } from "../../src/heatmap/layout";
import { assign, FITTING, UNEVALUATED, type Mark } from "../../src/heatmap/marks";
import { marksOfCells, paint } from "../../src/heatmap/paint";

/** Numbers that repeat with their seed, which a failed test prints. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const SEED = Number(process.env["NODESIFT_SEED"] ?? Date.now() % 1_000_000);

/** Cells of a random cluster, with the zone of each row. */
function cluster(next: () => number): { cells: Uint8Array; codes: number[]; values: (string | null)[] } {
  const values = [null, ...Array.from({ length: Math.floor(next() * 250) }, (_, at) => `zone-${at}`)];
  const cells = Uint8Array.from({ length: 1 + Math.floor(next() * 3_000) }, () => {
    const kind = Math.floor(next() * 8);
    return kind === 6 ? FITS : kind === 7 ? NOT_EVALUATED : kind;
  });
  return { cells, values, codes: Array.from(cells, () => Math.floor(next() * values.length)) };
}

const funnel = Array.from({ length: 6 }, (_, at) => ({ predicate: `P${at}`, rejected: 1 }));

test("bytes are read from base64 and counted", () => {
  const cells = decode(Buffer.from([0, 5, 255, 255, 254]).toString("base64"));
  assert.deepEqual([...cells], [0, 5, 255, 255, 254]);
  const counts = count(cells);
  assert.deepEqual([counts[0], counts[5], counts[FITS], counts[NOT_EVALUATED], counts[7]], [1, 1, 2, 1, 0]);
  assert.deepEqual([...decode("")], []);
});

test("every row has one place, and every place leads back to its row", () => {
  const next = random(SEED);
  for (let round = 0; round < 30; round += 1) {
    const { cells, codes, values } = cluster(next);
    const [width, scale] = [200 + Math.floor(next() * 1_200), [1, 1.25, 2][round % 3]!];
    const map = layout(cells, round % 4 === 0 ? undefined : { values, codes }, width, scale);
    const why = `seed ${SEED}, round ${round}`;
    assert.deepEqual([...map.order].sort((a, b) => a - b), Array.from(cells, (_, row) => row), why);
    for (let at = 0; at < map.order.length; at += 1) {
      const { x, y } = placeOf(map, at);
      assert.ok(x >= 0 && y >= 0 && x + map.side <= map.width && y + map.side <= map.height, why);
      assert.equal(cellAt(map, x, y), at, why);
      assert.equal(cellAt(map, x + map.side - 1, y + map.side - 1), at, why);
    }
  }
});

test("rows of a block have one value of the label and are sorted by obstacle", () => {
  const next = random(SEED);
  const { cells, codes, values } = cluster(next);
  const map = layout(cells, { values, codes }, 900, 1);
  for (let at = 1; at < map.order.length; at += 1) {
    const [before, row] = [map.order[at - 1]!, map.order[at]!];
    const block = blockOf(map, at);
    if (block.rest === 0) assert.equal(values[codes[row]!], block.value, `seed ${SEED}`);
    if (block !== blockOf(map, at - 1)) continue;
    const rank = (cell: number): number => (cell === FITS ? -1 : cell);
    assert.ok(rank(cells[before]!) <= rank(cells[row]!), `seed ${SEED}, at ${at}`);
  }
  assert.ok(map.blocks.length <= 200);
});

test("values beyond the largest share one block", () => {
  const values = Array.from({ length: 260 }, (_, at) => `v${at}`);
  const map = layout(new Uint8Array(260), { values, codes: values.map((_, at) => at) }, 900, 1);
  assert.deepEqual([map.blocks.length, map.blocks[199]!.rest, map.blocks[199]!.count], [200, 61, 61]);
});

test("blocks of many values are as wide as they are high, or wider, and not a line of pixels", () => {
  const codes = Array.from({ length: 5_000 }, (_, row) => row % 40);
  const map = layout(new Uint8Array(5_000), { values: codes.slice(0, 40).map(String), codes }, 600, 1);
  assert.ok(map.edge >= 3, `${map.edge}`);
  for (const { columns, count } of map.blocks) assert.ok(columns < 4 * Math.ceil(count / columns), `${columns} of ${count}`);
});

test("keys reach every cell and leave the map on no side", () => {
  const next = random(SEED);
  const { cells, codes, values } = cluster(next);
  const map = layout(cells, { values, codes }, 700, 1);
  const seen = new Set<number>();
  for (let at: number | undefined = 0, before = -1; at !== undefined && at !== before; ) {
    seen.add(at);
    [before, at] = [at, step(map, at, "ArrowRight")];
  }
  assert.equal(seen.size, cells.length, `seed ${SEED}`);
  for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"]) {
    for (let at = 0; at < cells.length; at += 1) {
      const to = step(map, at, key);
      assert.ok(to !== undefined && to >= 0 && to < cells.length, `seed ${SEED}, ${key} at ${at}`);
    }
  }
  assert.equal(step(map, 0, "Enter"), undefined);
  assert.equal(step(map, step(map, 0, "PageDown")!, "PageUp"), 0);
});

test("pixels of each mark are as many as its cells have", () => {
  const next = random(SEED);
  for (let round = 0; round < 12; round += 1) {
    const { cells, codes, values } = cluster(next);
    const map = layout(cells, { values, codes }, 300 + round * 100, round % 2 === 0 ? 1 : 2);
    const pixels = new Uint32Array(map.width * map.height);
    const marks = assign(new Map(), funnel);
    paint(pixels, map, cells, marksOfCells(funnel, marks));
    const found = new Map<number, number>();
    for (const pixel of pixels) found.set(pixel, (found.get(pixel) ?? 0) + 1);
    const counts = count(cells);
    const of = ({ colour, ink, shade }: Mark): number =>
      [colour, ink, shade].reduce((sum, part) => sum + (found.get(abgr(part)) ?? 0), 0);
    const area = map.side ** 2;
    funnel.forEach(({ predicate }, at) => {
      assert.equal(of(marks.get(predicate)!), counts[at]! * area, `seed ${SEED}, round ${round}, ${predicate}`);
    });
    assert.equal(of(FITTING), counts[FITS]! * area, `seed ${SEED}, round ${round}`);
    assert.equal(of(UNEVALUATED), counts[NOT_EVALUATED]! * area, `seed ${SEED}, round ${round}`);
  }
});

test("a predicate keeps its mark, and 24 have colours and inks of their own", () => {
  const first = assign(new Map(), [{ predicate: "b", rejected: 1 }, { predicate: "c", rejected: 0 }]);
  const second = assign(first, [{ predicate: "a", rejected: 2 }, { predicate: "b", rejected: 0 }]);
  assert.deepEqual([...second.keys()], ["b", "a"]);
  assert.equal(second.get("b"), first.get("b"));
  const many = assign(new Map(), Array.from({ length: 24 }, (_, at) => ({ predicate: `${at}`, rejected: 1 })));
  const colours = [...many.values(), FITTING, UNEVALUATED].flatMap(({ colour, ink, shade }) => [colour, ink, shade]);
  assert.equal(new Set(colours).size, 78);
});

test("a hundred thousand cells fit the width and are drawn", () => {
  const cells = new Uint8Array(100_000).fill(3);
  const map = layout(cells, undefined, 1_000, 1);
  assert.ok(map.width <= 1_000 && map.height <= 420, `${map.width} x ${map.height}`);
  const pixels = new Uint32Array(map.width * map.height);
  paint(pixels, map, cells, marksOfCells(funnel, assign(new Map(), funnel)));
  assert.equal(pixels.filter((pixel) => pixel !== 0).length, 100_000 * map.side ** 2);
});

function abgr(colour: number): number {
  return ((255 << 24) | ((colour & 255) << 16) | (colour & 0xff00) | (colour >> 16)) >>> 0;
}
