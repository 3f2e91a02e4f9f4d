// Edits of a what-if: what each text is read as, what it makes of a pod or a cluster, and what is refused. The cases are those of
// the command line's own tests, since a link and a command have one language. Start at the first test.

import assert from "node:assert/strict";
import { test } from "node:test";

import { NotMade, whatIf, type WhatIf } from "../../src/edits/apply";
import { parse, print } from "../../src/edits/grammar";
import { fromQuery, toQuery, tooLong } from "../../src/edits/link";
import type { JsonObject, Objects } from "../../src/edits/objects";

const HOSTNAME = "kubernetes.io/hostname";
const CORDONED = "node.kubernetes.io/unschedulable";

/** Objects of a cluster of three nodes and a pod. */
const cluster: Objects = {
  async pod(_, name) {
    if (name !== "web") throw new Error(`${name} is not there`);
    return {
      kind: "Pod",
      metadata: { name: "web" },
      spec: {
        nodeSelector: { disk: "ssd" },
        affinity: {},
        topologySpreadConstraints: [{ a: 1 }, { b: 2 }],
        resources: { requests: { cpu: "3" } },
        overhead: { cpu: "1", memory: "1Mi" },
        initContainers: [{ resources: { requests: { cpu: "4" } } }],
        containers: [
          { name: "a", resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2" } } },
          { name: "b", resources: { requests: { cpu: "1" } } },
        ],
      },
    };
  },
  async node(name) {
    if (!["n0", "n1", "n1-copy-2"].includes(name)) throw new Error(`${name} is not there`);
    return {
      kind: "Node",
      metadata: { name, uid: "u", labels: { [HOSTNAME]: name, zone: "a" } },
      spec: {
        unschedulable: true,
        taints: [
          { key: CORDONED, effect: "NoSchedule" },
          { key: "gpu", effect: "NoSchedule" },
        ],
      },
    };
  },
  hasNode: async (name) => name === "n1-copy-2",
  taintedBy: async (key) => (key === "gpu" ? ["n0", "n1"] : []),
};

const made = (...texts: string[]): Promise<WhatIf> =>
  whatIf(texts.map(parse), { namespace: "shop", name: "web" }, cluster);

const spec = (made: WhatIf): any => made.pod?.["spec"];

const nodes = (made: WhatIf): any[] => (made.overlay?.nodes ?? []).map(({ object }) => object);

test("edits are written as they are typed", () => {
  for (const text of [
    "cpu=2",
    "example.com/gpu=1",
    "hugepages-2Mi=4Mi",
    "tolerate=gpu",
    "tolerate=gpu=true",
    "tolerate=gpu=",
    "tolerate=gpu=true:NoSchedule",
    "tolerate=gpu:NoExecute",
    "drop=nodeSelector",
    "drop=affinity",
    "drop=spread[1]",
    "node+=n0*3",
    "uncordon=n0",
    "untaint=gpu",
    "without=shop/web",
  ]) {
    assert.equal(print(parse(text)), text);
  }
  assert.equal(print(parse("node+=n0")), "node+=n0*1");
  assert.equal(print(parse("without=web")), "without=default/web");
});

test("text that is no edit is refused with what is one", () => {
  for (const [text, said] of [
    ["", "is no edit"],
    ["cpu", "is no edit"],
    ["cpu=", "is no edit"],
    ["=2", "is no edit"],
    ["cpus=2", "no resource"],
    ["cpu=-1", "at least 0"],
    ["cpu=two", "at least 0"],
    ["tolerate=gpu:Always", "NoSchedule, PreferNoSchedule, NoExecute"],
    ["tolerate==v", "KEY"],
    ["drop=containers", "spread[INDEX]"],
    ["drop=spread[x]", "spread[INDEX]"],
    ["drop=spread[-1]", "spread[INDEX]"],
    ["node+=n0*0", "from 1 to 1000"],
    ["node+=n0*1001", "from 1 to 1000"],
    ["node+=*2", "from 1 to 1000"],
    ["without=a/b/c", "NAMESPACE/NAME"],
    ["without=/b", "NAMESPACE/NAME"],
  ] as const) {
    assert.throws(() => parse(text), (error: Error) => error.message.includes(said), text);
  }
});

test("a request is that of the whole pod", async () => {
  const halved = spec(await made("cpu=500m"));
  assert.deepEqual(halved.containers[0].resources, { requests: { cpu: "500m", memory: "1Gi" }, limits: {} });
  assert.deepEqual(halved.containers[1].resources.requests, {});
  assert.deepEqual(halved.initContainers[0].resources.requests, {});
  assert.deepEqual([halved.resources.requests, halved.overhead], [{}, { memory: "1Mi" }]);
  assert.equal(spec(await made("example.com/gpu=1")).containers[0].resources.requests["example.com/gpu"], "1");
});

test("parts of the pod are dropped and tolerations added", async () => {
  const edited = await made(
    "drop=nodeSelector",
    "drop=affinity",
    "drop=spread[0]",
    "tolerate=gpu",
    "tolerate=a=b:NoExecute",
  );
  assert.equal(edited.overlay, undefined);
  assert.ok(!("nodeSelector" in spec(edited)) && !("affinity" in spec(edited)));
  assert.deepEqual(spec(edited).topologySpreadConstraints, [{ b: 2 }]);
  assert.deepEqual(spec(edited).tolerations, [
    { key: "gpu", operator: "Exists" },
    { key: "a", operator: "Equal", value: "b", effect: "NoExecute" },
  ]);
});

test("copies have names and hostnames of their own", async () => {
  const copies = nodes(await made("node+=n0*2"));
  assert.deepEqual(copies.map((node) => node.metadata.name), ["n0-copy-1", "n0-copy-2"]);
  assert.deepEqual(copies[1].metadata.labels, { [HOSTNAME]: "n0-copy-2", zone: "a" });
  assert.ok(!("uid" in copies[1].metadata));
});

test("copies add up and replace no node", async () => {
  const names = async (...texts: string[]): Promise<string[]> =>
    nodes(await made(...texts)).map((node) => node.metadata.name);
  const twice = await names("node+=n0*2", "node+=n0*3");
  assert.deepEqual(twice, ["n0-copy-1", "n0-copy-2", "n0-copy-3", "n0-copy-4", "n0-copy-5"]);
  // The cluster has an n1-copy-2.
  assert.deepEqual(await names("node+=n1*3"), ["n1-copy-1", "n1-copy-3", "n1-copy-4"]);
  // A node of the cluster that is named like a copy is none.
  assert.deepEqual((await made("uncordon=n1-copy-2", "node+=n1*2")).added, ["n1-copy-1", "n1-copy-3"]);
  await assert.rejects(made("node+=n0*600", "node+=n1*600"), {
    at: 1,
    message: "all edits add 1200 nodes, and 1000 is the most",
  });
});

test("edits of one node add up in their order", async () => {
  const both = nodes(await made("uncordon=n0", "untaint=gpu"));
  assert.deepEqual(both[0].spec, { taints: [] });
  assert.equal(both[1].spec.unschedulable, true, "the other node stays cordoned");
  assert.deepEqual(both[1].spec.taints, [{ key: CORDONED, effect: "NoSchedule" }]);
  const uncordoned = nodes(await made("uncordon=n0", "node+=n0*1"));
  assert.equal(uncordoned.length, 2);
  assert.deepEqual(uncordoned[1].spec.taints, [{ key: "gpu", effect: "NoSchedule" }]);
});

test("pods go by name, and no edit changes the objects that it was given", async () => {
  const gone = await made("without=shop/other");
  assert.deepEqual(gone, { added: [], overlay: { nodes: [], removedPods: [{ name: { namespace: "shop", name: "other" } }] } });
  const object: JsonObject = { spec: { containers: [{ name: "a" }] } };
  const edited = await whatIf([parse("cpu=2")], { object }, cluster);
  assert.deepEqual(object, { spec: { containers: [{ name: "a" }] } });
  assert.equal(spec(edited).containers[0].resources.requests.cpu, "2");
});

test("an edit about nothing is named", async () => {
  for (const [edit, said] of [
    ["untaint=spot", "no node has such a taint"],
    ["drop=spread[2]", "no such spread constraint"],
  ] as const) {
    await assert.rejects(made("tolerate=gpu", edit), (error: Error) => {
      return error instanceof NotMade && error.at === 1 && error.message.includes(said);
    });
  }
  await assert.rejects(made("drop=affinity", "drop=affinity"), { message: "the pod has no affinity" });
  await assert.rejects(made("cpu=1", "drop=affinity", "uncordon=n9"), { at: 2, message: "n9 is not there" });
});

test("a link gives back the edits that were written into it", () => {
  const texts = ["cpu=2", "tolerate=a&b=c+d:NoSchedule", "node+=n 0*3", "drop=spread[0]", "without=ä/ö"];
  const linked = fromQuery(new URLSearchParams(toQuery(texts.map(parse))));
  assert.equal(linked.refused, undefined);
  assert.deepEqual(linked.edits.map(print), texts);
  assert.deepEqual(fromQuery(new URLSearchParams("")), { edits: [] });
});

test("a link with an edit that is none, or with too many, applies none", () => {
  const broken = fromQuery(new URLSearchParams("e=cpu%3D2&e=colour%3Dred"));
  assert.deepEqual(broken.edits, []);
  assert.match(broken.refused ?? "", /^edit 2 of the link: "colour" is no edit/);
  const many = fromQuery(new URLSearchParams(toQuery(Array.from({ length: 33 }, () => "cpu=2"))));
  assert.deepEqual([many.edits, many.refused], [[], "the link has 33 edits, 32 at most"]);
  const long = `uncordon=${"n".repeat(4_100)}`;
  assert.match(fromQuery(new URLSearchParams(toQuery([long]))).refused ?? "", /longer than 4096 bytes/);
  assert.match(tooLong([parse(long)]) ?? "", /a link holds 4096/);
  assert.equal(tooLong([parse("cpu=2")]), undefined);
});

test("a link has no more nodes fetched than its edits may, whatever taints it names", async () => {
  let fetched = 0;
  const tainted = (key: string): string[] => Array.from({ length: 60 }, (_, at) => `${key}-${at}`);
  const many: Objects = {
    ...cluster,
    taintedBy: async (key) => tainted(key),
    async node(name) {
      fetched += 1;
      return { metadata: { name }, spec: { taints: [{ key: name.slice(0, 1), effect: "NoSchedule" }] } };
    },
  };
  const made = await whatIf([parse("untaint=a")], { object: {} }, many);
  assert.equal(made.overlay?.nodes.length, 60);
  const refused = await whatIf(["a", "b", "c"].map((key) => parse(`untaint=${key}`)), { object: {} }, many).catch((error: unknown) => error);
  assert.ok(refused instanceof NotMade && refused.at === 1 && refused.message.includes("tolerate=b"), String(refused));
  assert.equal(fetched, 60 + 60, "nothing is fetched for the edit that is refused, nor for those after it");
});
