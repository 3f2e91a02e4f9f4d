// The answer of `/readyz` as the overview reads it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readReady } from "../../src/routes/overview/health";

test("all well is no text, and what is wrong is said without the ok before it", () => {
  assert.deepEqual(readReady(200, "ok\n"), { isReady: true, text: "" });
  const refused = "policy refused at step document: generation 2 stays active";
  assert.deepEqual(readReady(200, `ok, ${refused}\n`), { isReady: true, text: refused });
});

test("what a sidecar that is not ready waits for is said as it is", () => {
  const text = "waiting for the list of nodes, the list of pods";
  assert.deepEqual(readReady(503, `${text}\n`), { isReady: false, text });
  assert.deepEqual(readReady(503, "ok\n"), { isReady: false, text: "ok" });
});
