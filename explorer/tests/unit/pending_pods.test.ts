// The question of a node's page about pending pods, of which some have gone since they were listed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../src/api/errors";
import { type Explanations, explainThoseLeft } from "../../src/routes/node/pending_pods";

/** Answers as the sidecar does where these pods are gone, and notes the questions. */
function sidecar(gone: string[], otherFailure?: ApiError) {
  const asked: string[][] = [];
  const ask = async (pods: string[]): Promise<Explanations> => {
    asked.push(pods);
    const missing = pods.find((pod) => gone.includes(pod));
    if (missing) throw new ApiError("notFound", 404, `pod ${missing} is not in the cache`);
    if (otherFailure && pods.length === 1) throw otherFailure;
    return { version: { generation: "7", policyGeneration: "1" }, pods: pods.map((pod) => ({ pod, predicates: [] })) };
  };
  return { ask, asked };
}

test("one question is enough where all pods are there", async () => {
  const { ask, asked } = sidecar([]);
  const { pods, gone } = await explainThoseLeft(["a/x", "a/y"], ask);
  assert.deepEqual([pods.map(({ pod }) => pod), gone, asked.length], [["a/x", "a/y"], [], 1]);
});

test("pods that have gone cost their own rows alone, and are named", async () => {
  const { ask, asked } = sidecar(["a/y"]);
  const { pods, gone, version } = await explainThoseLeft(["a/x", "a/y", "b/z"], ask);
  assert.deepEqual([pods.map(({ pod }) => pod), gone, version.generation], [["a/x", "b/z"], ["a/y"], "7"]);
  assert.deepEqual(asked, [["a/x", "a/y", "b/z"], ["a/x"], ["a/y"], ["b/z"]]);
});

test("a question of which nothing is left fails as it was refused", async () => {
  await assert.rejects(explainThoseLeft(["a/x", "a/y"], sidecar(["a/x", "a/y"]).ask), { message: "pod a/x is not in the cache" });
});

test("another failure is one of the whole question", async () => {
  const lost = new ApiError("lost", 0, "the connection failed");
  await assert.rejects(explainThoseLeft(["a/x", "a/y"], sidecar(["a/y"], lost).ask), lost);
});
