// Edits of nodes that help: copies of near nodes, and a cordoned node, each where the node itself fits.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { NearNode, Why } from "../../src/api/why";
import type { Objects } from "../../src/edits/objects";
import { nodeHelp, withNodeHelp, type Asking } from "../../src/routes/pod/node_help";

const near = (node: string, code: string): NearNode => ({ node, row: 0, predicate: "P", code, reasons: [], missing: [], taints: [] });

const answer = {
  nodes: 4,
  feasibleCount: 0,
  feasible: [],
  faults: [],
  nearest: [near("for-good", "UnschedulableAndUnresolvable"), near("a", "Unschedulable"), near("b", "Unschedulable"), near("c", "Unschedulable")],
  evidence: [{ interface: "node-status", facts: [{ name: "unschedulable", value: "true", nodes: 2 }] }],
  help: [{ edit: "cpu=1", gained: 3, feasibleCount: 3, caveat: "" }, { edit: "drop=affinity", gained: 1, feasibleCount: 1, caveat: "" }],
  helpUnevaluated: 1,
} as unknown as Why;

const objects: Objects = {
  async pod() {
    throw new Error("no pod is edited");
  },
  async node(name) {
    if (name === "gone") throw new Error("gone is not there");
    return { kind: "Node", metadata: { name, labels: {} }, spec: { unschedulable: true } };
  },
  async hasNode() {
    return false;
  },
  async taintedBy() {
    return [];
  },
};

/** A sidecar by which a pod fits those of these nodes that an overlay has. */
function asking(fitting: string[], cordoned: string[], faults: object[] = []): Asking & { asked: string[][] } {
  const asked: string[][] = [];
  return {
    asked,
    namespace: "shop",
    name: "web",
    objects,
    cordoned: async () => cordoned,
    async why(overlay) {
      const names = (overlay?.nodes ?? []).map(({ object }) => (object["metadata"] as { name: string }).name);
      asked.push(names);
      const feasible = ["elsewhere", ...names.filter((name) => fitting.includes(name))];
      return { ...answer, feasible, feasibleCount: feasible.length, faults } as unknown as Why;
    },
  };
}

test("near nodes are copied and cordoned ones uncordoned, and those help that fit themselves", async () => {
  const sidecar = asking(["a-copy-1", "d"], ["x", "d"]);
  const found = await nodeHelp(answer, sidecar);
  assert.deepEqual(found.help.map(({ edit, gained, feasibleCount }) => [edit, gained, feasibleCount]), [["node+=a*1", 1, 2], ["uncordon=d", 1, 2]]);
  assert.equal(found.unevaluated, 0);
  assert.deepEqual(sidecar.asked, [["a-copy-1"], ["b-copy-1"], ["d", "x"], ["d"]]);
  const whole = withNodeHelp(answer, found);
  assert.deepEqual(whole.help.map(({ edit }) => edit), ["cpu=1", "node+=a*1", "uncordon=d", "drop=affinity"]);
});

test("an edit that cannot be tried is counted, and a fault is no help", async () => {
  const gone = await nodeHelp({ ...answer, nearest: [near("gone", "Unschedulable")], evidence: [] }, asking([], []));
  assert.deepEqual(gone, { help: [], unevaluated: 1 });
  assert.equal(withNodeHelp(answer, gone).helpUnevaluated, 2);
  const faulty = await nodeHelp(answer, asking(["a-copy-1", "b-copy-1"], [], [{}]));
  assert.deepEqual(faulty.help, []);
  const large = await nodeHelp({ ...answer, nodes: 5_001 }, asking(["a-copy-1"], []));
  assert.deepEqual(large, { help: [], unevaluated: 3 });
  assert.deepEqual(await nodeHelp({ ...answer, feasibleCount: 1 }, asking(["a-copy-1"], [])), { help: [], unevaluated: 0 });
});
