// The table of nodes: conditions as they are written, pages put together, and sums by a label against a slow twin.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeColumns } from "../../src/api/types";
import { groupRows, join, loadTable } from "../../src/routes/nodes/table";
import { columnsOf, parseWhere, quantity } from "../../src/routes/nodes/where";

function page(first: number, rows: [string, number, string | null, string | null][], all = rows.length): NodeColumns {
  const coded = (texts: (string | null)[]) => {
    const values = [...new Set(texts)];
    return { values, codes: texts.map((text) => values.indexOf(text)) };
  };
  return {
    version: { generation: "7", policyGeneration: "1" },
    epoch: "e",
    nodes: all,
    first,
    rows: rows.length,
    columns: {
      name: rows.map(([name]) => name),
      unschedulable: rows.map((_, at) => at % 2),
      "free:cpu": rows.map(([, cpu]) => cpu),
      taints: coded(rows.map(([, , taints]) => taints)),
      "label:zone": coded(rows.map(([, , , zone]) => zone)),
    },
  };
}

const PAGES = [
  page(0, [["a", 4_000, null, "x"], ["b", 9_000, "gpu=true:NoSchedule", "y"]], 4),
  page(2, [["c", 500, "gpu:NoSchedule other:NoExecute", null], ["d", 8_000, null, "y"]], 4),
];

function select(where: string): string[] {
  const table = join(PAGES);
  const { conditions, error } = parseWhere(where);
  assert.equal(error, undefined, where);
  return table.select(conditions).map((row) => table.name(row));
}

test("conditions select rows over all pages", () => {
  const expected: [string, string][] = [
    ["", "abcd"], ["cpu.free>8", "b"], ["cpu.free>=8", "bd"], ["cpu.free<500m", ""], ["cpu.free<=500m", "c"], ["cpu.free!=4", "bcd"],
    ["zone=y", "bd"], ["label:zone=y", "bd"], ["zone!=y", "ac"], ["zone~y", "bd"], ["taint=gpu", "bc"], ["taint!=gpu", "ad"],
    ["taint=gpu zone=y", "b"], ["taint~the", "c"], ["name~c", "c"], ["cordoned=yes", "bd"], ["cordoned!=yes", "ac"], ["cordoned=no", "ac"],
  ];
  for (const [where, names] of expected) assert.equal(select(where).join(""), names, where);
});

test("rows are sorted by a key both ways, those with the same key by name", () => {
  const table = join(PAGES);
  const sorted = (isDescending: boolean, key?: (row: number) => number) =>
    table.select([], key, isDescending).map((row) => table.name(row)).join("");
  assert.deepEqual([sorted(false), sorted(true)], ["abcd", "dcba"]);
  const cpu = (row: number) => table.amount("free:cpu", row);
  assert.deepEqual([sorted(false, cpu), sorted(true, cpu)], ["cadb", "bdac"]);
  const cordoned = (row: number) => Number(table.isCordoned(row));
  assert.deepEqual([sorted(false, cordoned), sorted(true, cordoned)], ["acbd", "bdac"]);
});

test("a term that is no condition is named", () => {
  for (const where of ["cpu", "cpu.free>x", "cpu.free~8", "zone>1", "cordoned=maybe", "=x", "cpu.free>1Zi"]) {
    const { conditions, error } = parseWhere(`name~a ${where}`);
    assert.ok(error && conditions.length === 0, where);
  }
});

test("conditions name the columns that they read", () => {
  const { conditions } = parseWhere("nvidia.com/gpu.free>0 memory.allocatable>=16Gi a/b=c taint=x name~y");
  assert.deepEqual(columnsOf(conditions), ["free:nvidia.com/gpu", "allocatable:memory", "label:a/b"]);
});

test("quantities are those of Kubernetes in the units of the API", () => {
  const expected: [string, string, number | null][] = [
    ["cpu", "2", 2_000], ["cpu", "500m", 500], ["cpu", "0.1", 100], ["memory", "1Gi", 2 ** 30], ["memory", "1G", 1e9], ["pods", "10", 10],
    ["memory", "1gi", null], ["cpu", "", null], ["cpu", "one", null],
  ];
  for (const [resource, text, value] of expected) assert.equal(quantity(resource, text), value, `${resource} ${text}`);
});

test("sums by a label are those of a slow twin", () => {
  const table = join(PAGES);
  const groups = groupRows(table, [0, 1, 2, 3], "zone", ["free:cpu"]);
  assert.deepEqual(groups.map((group) => [group.value, group.nodes, group.sums["free:cpu"], group.largest["free:cpu"], group.cordoned]), [
    ["y", 2, 17_000, 9_000, 2],
    [null, 1, 500, 500, 0],
    ["x", 1, 4_000, 4_000, 0],
  ]);
});

/** A sidecar that gives these pages, each with the generation as its version, and says where a question names that of the next one. */
function scripted(answers: (NodeColumns | undefined)[]) {
  const asked: string[] = [];
  const get = async (path: string, { etag }: { etag: string | null }) => {
    asked.push(path.replace("v1/nodes?columns=name&rows=", ""));
    const value = answers.shift();
    assert.ok(value, "asked too often");
    const version = `${value.epoch}-${value.version.generation}`;
    return etag === version ? { same: true, ageMs: null } : { same: false, value, etag: version, ageMs: null };
  };
  const load = (version?: string | null) => loadTable({ get } as never, "name", new AbortController().signal, version);
  /** A table that is read whole. */
  const loaded = async (version?: string | null) => {
    const answer = await load(version);
    assert.ok(!answer.same);
    return { table: answer.value, etag: answer.etag };
  };
  return { asked, load, loaded };
}

test("pages are read until all rows are there", async () => {
  const { asked, loaded } = scripted([...PAGES]);
  const { table } = await loaded();
  assert.deepEqual([table.epoch, table.size, table.name(3)], ["e", 4, "d"]);
  assert.deepEqual(asked, ["0-9999", "2-10001"]);
});

test("an unchanged table is known by its first page, and one of several versions is read again", async () => {
  const { asked, load, loaded } = scripted([...PAGES, PAGES[0], ...PAGES]);
  const first = await loaded();
  assert.equal((await load(first.etag)).same, true);
  assert.deepEqual(asked, ["0-9999", "2-10001", "0-9999"]);
  assert.equal((await loaded("of before")).table.size, 4);
  const later = { ...PAGES[1], version: { generation: "8", policyGeneration: "1" } } as NodeColumns;
  assert.equal((await scripted([PAGES[0], later]).loaded()).etag, null);
});

test("where another process answers, all rows are read again, from the first on", async () => {
  const other = page(0, [["z", 1, null, null]]);
  other.epoch = "other";
  const { asked, loaded } = scripted([PAGES[0], other, other]);
  const { table } = await loaded();
  assert.deepEqual([table.epoch, table.size, table.name(0)], ["other", 1, "z"]);
  assert.deepEqual(asked, ["0-9999", "2-10001", "0-9999"]);
});

test("processes that answer in turn are a failure, and no endless loop", async () => {
  const turns = Array.from({ length: 20 }, (_, at) => ({ ...page(0, [["a", 1, null, null]], 2), epoch: String(at) }));
  await assert.rejects(scripted(turns).load(), /several processes/);
});
