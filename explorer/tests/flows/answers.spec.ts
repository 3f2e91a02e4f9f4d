// The types of answers against a real sidecar: each answer, written as a literal, has to have its type to the compiler, without a field
// more and without one less.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FilterAnswer, NodeColumns } from "../../src/api/types";
import { ask, expect, openSite, test } from "../support/fixtures";
// @ts-expect-error: plain JavaScript, as it writes cluster files by itself
import { cluster } from "../support/cluster.mjs";
import { startSidecar } from "../support/sidecar";

const root = fileURLToPath(new URL("../..", import.meta.url));

const ANSWERS: [string, string][] = [
  ["Access", "v1/access"],
  ["About", "version"],
  ["Pending", "v1/pending?limit=1000"],
  ["Pending", "v1/pending?by=owner&limit=1"],
  ["NodeColumns", "v1/nodes?columns=name,unschedulable,taints,free:cpu,label:pool&rows=0-3"],
  ["NodeState", "v1/nodes/worker-01"],
  ["Why", "v1/why?pod=jobs/tight-0&by=pool&cells=true&help=true"],
  ["Why", "v1/why?pod=shop/lost-volume"],
  ["PodHistory", "v1/pods/jobs/tight-0/history"],
  ["Policy", "v1/policy"],
  ["PolicyHistory", "v1/policy/history"],
  ["Shadows", "v1/policy/shadow"],
  ["Negotiations", "v1/negotiations"],
];

/** Types of answers about one pod, which have a file of their own. */
const OF_ONE_POD = ["Why", "PodHistory"];

const POLICY =
  "apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: answers}\nspec:\n  schedulerNames: [default-scheduler]\n" +
  "  predicates:\n  - name: NodeResourcesFit\n  - name: TaintToleration\n    mode: Shadow\n  scores:\n  - {name: NodeResourcesFit, weight: 1}\n";

/** What the compiler says of answers as literals of their types; empty where they have them. */
async function compile(literals: [string, unknown][]): Promise<string> {
  const folder = await mkdtemp(join(root, "test-results/answers-"));
  const names = [...new Set(literals.map(([type]) => type))];
  const lines = literals.map(([type, value], at) => `export const answer${at}: ${type} = ${JSON.stringify(value)};`);
  const imports = [
    [OF_ONE_POD.filter((name) => names.includes(name)), "why"],
    [names.filter((name) => !OF_ONE_POD.includes(name)), "types"],
  ].map(([types, file]) => `import type { ${(types as string[]).join(", ")} } from "../../src/api/${file}";`);
  await writeFile(join(folder, "answers.ts"), [...imports, ...lines, ""].join("\n"));
  const config = { extends: "../../tsconfig.json", include: ["answers.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = spawnSync(join(root, "node_modules/.bin/tsc"), ["--project", folder], { cwd: root, encoding: "utf8" });
  await rm(folder, { recursive: true, force: true });
  return stdout;
}

test("answers of a sidecar have their types, field by field", async () => {
  const { site, close } = await openSite(await startSidecar({ cluster: cluster(), policy: POLICY }));
  try {
    const post = (path: string, body: object) =>
      fetch(`${site.sidecar.url}/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    // So that a history, an assumed pod and a difference are among the answers.
    const pod = { name: { namespace: "shop", name: "small-0" } };
    const scored = await post("v1/filter", { pods: [pod], scores: { top: 2, each: true } });
    expect(scored.status).toBe(200);
    const { pods } = (await scored.json()) as FilterAnswer;
    expect((await post("v1/assume", { pod, node: "worker-01" })).status).toBe(200);
    await expect.poll(async () => (await ask<{ shadows: { pods: number }[] }>(site, "v1/policy/shadow")).shadows[0]?.pods).toBe(1);
    const literals: [string, unknown][] = [["PodScores", pods[0]?.scores]];
    for (const [type, path] of ANSWERS) literals.push([type, await ask(site, path)]);
    expect(await compile(literals)).toBe("");
    // The check itself: a field more, a field less and another kind are each found.
    const nodes = await ask<NodeColumns>(site, "v1/nodes?columns=name&rows=0-0");
    const { epoch, ...less } = nodes;
    for (const wrong of [{ ...nodes, extra: 1 }, less, { ...nodes, epoch: Number(epoch) }]) {
      expect(await compile([["NodeColumns", wrong]])).toContain("answers.ts");
    }
  } finally {
    await close();
  }
});
