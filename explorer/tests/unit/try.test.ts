// What-ifs without a browser: two answers compared, errors of the sidecar matched to edits, manifests split. Start at the first test.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Why } from "../../src/api/why";
import { keyOf } from "../../src/edits/sidecar";
import { nearNames } from "../../src/routes/pod/near_names";
import { amount, number } from "../../src/routes/pod/amount";
import { blamed, compare } from "../../src/routes/try/compare";
import { documents, refused } from "../../src/routes/try/manifest";
import { checkSize } from "../../src/routes/try/what_if";

/** An answer of two predicates with these cells. */
function answer(cells: number[], rejects: [number, number], generation = "1"): Why {
  return {
    version: { generation, policyGeneration: "1" },
    cells: Buffer.from(cells).toString("base64"),
    alone: [
      { predicate: "A", rejects: rejects[0], onlyReason: 0 },
      { predicate: "B", rejects: rejects[1], onlyReason: 0 },
    ],
  } as unknown as Why;
}

test("nodes are gained and lost row by row, and nodes of the overlay come last", () => {
  const compared = compare(answer([0, 255, 1, 255], [1, 1]), answer([255, 255, 0, 1, 255, 0], [0, 2]));
  assert.deepEqual(compared, {
    changes: [
      { predicate: "A", before: 1, after: 0 },
      { predicate: "B", before: 1, after: 2 },
    ],
    gained: [0],
    lost: [3],
    added: { nodes: 2, fit: 1 },
    isSameState: true,
  });
  assert.equal(compare(answer([0], [1, 0]), answer([0], [1, 0], "2")).isSameState, false);
});

test("an error of the sidecar is shown beside the edit whose field it names", () => {
  const edits = ["memory=1Gi", "cpu=2x", "tolerate=gpu", "uncordon=n1", "without=shop/web", "without=shop/db"];
  for (const [message, at] of [
    ['pod.object.spec.containers[0].resources.requests.cpu: "2x" is not a quantity', 1],
    ["pod.object.spec.tolerations[1].operator: unknown", 2],
    ["overlay.nodes[0].object.spec.taints: wrong", 3],
    ["overlay.removed_pods[1]: pod shop/db is not in the cache", 5],
    ["overlay.removed_pods[7]: no", undefined],
    ["more requests than can be answered within 500 ms", undefined],
  ] as const) {
    assert.equal(blamed(message, edits), at, message);
  }
});

test("a manifest of several documents is split, and one that is too large is not sent", () => {
  const text = "# note\n---\nkind: Deployment\nmetadata:\n  name: web\n---\n\n---\nkind: Job\n";
  assert.deepEqual(
    documents(text).map(({ title }) => title),
    ["Deployment web", "Job"],
  );
  const list = JSON.stringify({ kind: "List", items: [{ kind: "Pod", metadata: { name: "a" } }, { kind: "Job" }] });
  assert.deepEqual(
    documents(list).map(({ title }) => title),
    ["Pod a", "Job"],
  );
  assert.deepEqual([documents(""), documents("{").length], [[], 1]);
  assert.equal(refused("kind: Pod"), "");
  assert.match(refused("ä".repeat(300_000)), /600000 bytes/);
});

test("the key of a taint is before its value and its effect", () => {
  assert.deepEqual(["gpu=true:NoSchedule", "gpu:NoExecute", ""].map(keyOf), ["gpu", "gpu", ""]);
});

test("names that are a slip away are proposed, the nearest first", () => {
  const pods = ["shop/web-0", "shop/wbe-0", "other/web-0", "shop/database"];
  assert.deepEqual(nearNames("shop", "web-9", pods), ["shop/web-0", "other/web-0", "shop/wbe-0"]);
  assert.deepEqual(nearNames("shop", "nothing-like-it", pods), []);
  assert.deepEqual(nearNames("shop", "web-0", ["shop/web-0"]), []);
});

test("amounts have the units of the command line", () => {
  for (const [resource, of, text] of [
    ["cpu", "16000", "16 cpu"],
    ["cpu", "1", "0.001 cpu"],
    ["cpu", "-250", "-0.25 cpu"],
    ["memory", `${4n << 30n}`, "4Gi memory"],
    ["memory", `${(4n << 30n) - (1n << 20n)}`, "4095Mi memory"],
    ["memory", `${(4n << 30n) - 1n}`, "3.99Gi memory"],
    ["memory", "0", "0 memory"],
    ["memory", "-9223372036854775808", "-8388608Ti memory"],
    ["hugepages-2Mi", `${6n << 20n}`, "6Mi hugepages-2Mi"],
    ["example.com/gpu", "1234567", "1,234,567 example.com/gpu"],
    ["pods", "1", "1 pod"],
    ["pods", "2", "2 pods"],
  ] as const) {
    assert.equal(amount(resource, of), text);
  }
  assert.equal(number("cpu", "none"), "none");
});

test("a question that is larger than the sidecar takes is refused here, by its bytes", () => {
  checkSize("x".repeat(1 << 20));
  assert.throws(() => checkSize("ä".repeat((1 << 19) + 1)), /1,048,578 bytes/);
});
