// The page's what-ifs against `nodesift why --try`, on random edits with a printed seed: both make the same objects, and so have the same
// answer, or both refuse. Start at the first test.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "../../src/api/client";
import type { Why } from "../../src/api/why";
import { whatIf } from "../../src/edits/apply";
import { parse } from "../../src/edits/grammar";
import { SidecarObjects } from "../../src/edits/sidecar";
import { expect, test } from "../support/pods";
import { program } from "../support/sidecar";

const ROUNDS = 24;
const SEED = Number(process.env["NODESIFT_SEED"] ?? Date.now() % 1_000_000);

const PODS = ["jobs/tight-0", "shop/web-0", "jobs/batch-0"];
const EDITS = [
  "cpu=3",
  "cpu=7500m",
  "memory=40Gi",
  "example.com/gpu=1",
  "tolerate=gpu",
  "tolerate=gpu=true:NoSchedule",
  "tolerate=gpu=false",
  "drop=nodeSelector",
  "drop=affinity",
  "drop=spread[0]",
  "node+=worker-01*2",
  "node+=worker-15*3",
  "uncordon=worker-15",
  "uncordon=worker-99",
  "without=load/busy-1",
  "without=load/nobody",
];

/** The parts of an answer that the edits decide. */
const decided = ({ nodes, feasibleCount, feasible, funnel, alone, cause }: Why) => ({ nodes, feasibleCount, feasible, funnel, alone, cause: cause.name });

/** The answer by the page's own edits; none where they are refused. */
async function byPage(url: string, pod: string, edits: string[]): Promise<Why | undefined> {
  const [namespace = "", name = ""] = pod.split("/");
  const client = new Client(fetch, () => `${url}/`);
  try {
    const { signal } = new AbortController();
    const made = await whatIf(edits.map(parse), { namespace, name }, new SidecarObjects(client, signal));
    const body = { pod: made.pod ? { object: made.pod } : { name: { namespace, name } }, ...(made.overlay ? { overlay: made.overlay } : {}) };
    return await client.post<Why>("v1/why", JSON.stringify(body), "application/json");
  } catch {
    return undefined;
  }
}

/** The answer by the command, which evaluates the cluster file itself; none where it refuses. */
async function byCommand(folder: string, pod: string, edits: string[]): Promise<Why | undefined> {
  const [namespace = "", name = ""] = pod.split("/");
  const words = ["why", name, "-n", namespace, "--cluster", join(folder, "cluster.json"), "-o", "json", ...edits.flatMap((edit) => ["--try", edit])];
  try {
    const { stdout } = await promisify(execFile)(program(), words, { maxBuffer: 16 << 20 });
    return JSON.parse(stdout) as Why;
  } catch {
    return undefined;
  }
}

test("edits of the page have the answers that the command line has", async ({ site }) => {
  test.setTimeout(180_000);
  let state = SEED;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const refused = { page: 0, all: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const pod = PODS[below(PODS.length)]!;
    const edits = Array.from({ length: 1 + below(3) }, () => EDITS[below(EDITS.length)]!);
    const [page, command] = [await byPage(site.sidecar.url, pod, edits), await byCommand(site.sidecar.folder, pod, edits)];
    const why = `seed ${SEED}, round ${round}: ${pod} ${edits.join(" ")}`;
    expect(page && decided(page), why).toEqual(command && decided(command));
    refused.all += 1;
    refused.page += page ? 0 : 1;
  }
  // Both answers and refusals are compared.
  expect(refused.page, `seed ${SEED}`).toBeGreaterThan(0);
  expect(refused.page, `seed ${SEED}`).toBeLessThan(refused.all);
});

test("a taint is removed from all nodes as the command line removes it on a cluster file", async ({ site }) => {
  test.setTimeout(120_000);
  const edits = ["untaint=gpu", "cpu=1", "drop=nodeSelector"];
  const command = await byCommand(site.sidecar.folder, "jobs/tight-0", edits);
  const page = await byPage(site.sidecar.url, "jobs/tight-0", edits);
  expect(page && decided(page)).toEqual(command && decided(command));
  expect(page?.feasibleCount).toBeGreaterThan(0);
});
