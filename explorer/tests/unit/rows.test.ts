// Columns of the node table beside an answer: whose they are, and when they are read again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "../../src/api/client";
import { labelColumn, NodeNames } from "../../src/api/rows";

/** A client of a sidecar whose table is given by column. */
function client(table: () => { version: string; columns: Record<string, unknown>; nodes: number }): Client {
  const fetch = async (): Promise<Response> => {
    const { version, columns, nodes } = table();
    return new Response(JSON.stringify({ version: { nodesResourceVersion: version }, epoch: "1", nodes, first: 0, rows: nodes, columns }));
  };
  return new Client(fetch, () => "http://localhost/");
}

test("a row whose node has gone has the name of the node that took its place, once the answer is newer", async () => {
  let names = ["a", "b", "c"];
  let version = "1";
  let asked = 0;
  let heard: () => void = () => undefined;
  const changed = (): Promise<void> => new Promise((resolve) => (heard = resolve));
  const sidecar = client(() => ((asked += 1), { version, columns: { name: names }, nodes: names.length }));
  const known = new NodeNames(sidecar, () => heard());
  let next = changed();
  assert.equal(known.get(0), undefined);
  await next;
  assert.deepEqual([known.get(0), known.get(2), asked], ["a", "c", 1]);
  // a goes, d comes: as many rows as before.
  names = ["c", "b", "d"];
  version = "2";
  known.renew("1");
  assert.deepEqual([known.get(0), asked], ["a", 1], "an answer about the same nodes asks nothing");
  known.renew("2");
  next = changed();
  assert.equal(known.get(0), "a", "until the new names are here");
  await next;
  assert.deepEqual([known.get(0), known.get(2), asked], ["c", "d", 2]);
});

test("values of a label say of which nodes they are", async () => {
  const sidecar = client(() => ({ version: "7", columns: { "label:zone": { values: ["z"], codes: [0] } }, nodes: 1 }));
  assert.deepEqual(await labelColumn(sidecar, "zone", new AbortController().signal), { values: ["z"], codes: [0], nodesVersion: "7" });
});
