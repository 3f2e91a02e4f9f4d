// A cluster, a policy and a sidecar that change under an open page: the pod is bound or deleted, the policy is replaced, the sidecar
// restarts. Start at the first test.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSite } from "../support/fixtures";
// @ts-expect-error: plain JavaScript, as other tests run it
import { ApiServer } from "../support/api_server.mjs";
import { expect, items, NODES, picture, test } from "../support/pods";
import { startSidecar } from "../support/sidecar";

const FILTERS = ["NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"];

/** A policy of these predicates. */
function policy(predicates: string[]): string {
  const listed = predicates.map((name) => `  - name: ${name}\n`).join("");
  return `apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: test}\nspec:\n  schedulerNames: [default-scheduler]\n  predicates:\n${listed}`;
}

test("a pod that is bound or deleted under an open page says so, and keeps its last answer", async ({ page }) => {
  const api = await ApiServer.start(items());
  const { site, close } = await openSite(await startSidecar({ kubeconfig: api.kubeconfig }));
  try {
    await page.goto(`${site.url}#/pods/jobs/tight-0`);
    await expect(page.locator(".headline")).toContainText("NoRoom");
    const bound = api.get("Pod", "tight-0", "jobs");
    bound.spec.nodeName = "worker-15";
    bound.status.phase = "Running";
    api.put(bound);
    const box = page.getByRole("group", { name: "Bound" });
    await expect(box).toContainText(/The pod is on node worker-15 since/);
    await expect(box).toContainText("Its last cause was NoRoom");
    await expect(page.locator(".stale-answer .headline")).toContainText("NoRoom");
    await picture(page, "pod-bound");
    await page.goto(`${site.url}#/pods/jobs/tight-1`);
    await expect(page.locator(".headline")).toContainText("NoRoom");
    api.remove("Pod", "tight-1", "jobs");
    await expect(page.getByRole("group", { name: "No longer pending" })).toContainText("was deleted, or has ended");
    await page.goto(`${site.url}#/pods/jobs/tight-0/try`);
    await expect(page.getByRole("group", { name: "Bound" })).toContainText("worker-15");
  } finally {
    await close();
    await api.close();
  }
});

test("a node that comes makes the pod fit on the open page", async ({ page }) => {
  const api = await ApiServer.start(items());
  const { site, close } = await openSite(await startSidecar({ kubeconfig: api.kubeconfig }));
  try {
    await page.goto(`${site.url}#/pods/jobs/tight-0`);
    await expect(page.locator(`canvas[data-cells="${NODES}"]`)).toBeVisible();
    const node = api.get("Node", "worker-01");
    node.metadata = { ...node.metadata, name: "fresh", uid: "fresh" };
    api.put(node);
    await expect(page.locator(`canvas[data-cells="${NODES + 1}"]`)).toBeVisible();
    await expect(page.locator(".headline")).toContainText("1 of");
  } finally {
    await close();
    await api.close();
  }
});

test("a policy that changes under an open what-if has it recomputed, and says so", async ({ page }) => {
  const sidecar = await startSidecar({ cluster: { kind: "List", items: items() }, policy: policy(FILTERS) });
  const { site, close } = await openSite(sidecar);
  try {
    await page.goto(`${site.url}#/pods/jobs/tight-0/try?e=cpu%3D3`);
    await expect(page.locator(".headline")).toContainText(/\(\+/);
    await writeFile(join(sidecar.folder, "policy.yaml"), policy(FILTERS.filter((name) => name !== "NodeResourcesFit")));
    await expect(page.getByText("Recomputed under policy 2")).toBeVisible({ timeout: 30_000 });
    await expect(page.getByRole("region", { name: /^Nodes that each predicate/ })).not.toContainText("NodeResourcesFit");
    await picture(page, "try-recomputed");
  } finally {
    await close();
  }
});

test("a restart of the sidecar under an open page has everything asked for again", async ({ page }) => {
  const all = items();
  const sidecar = await startSidecar({ cluster: { kind: "List", items: all } });
  const { site, close } = await openSite(sidecar);
  try {
    await page.goto(`${site.url}#/pods/jobs/tight-0?node=worker-01`);
    await expect(page.locator(`canvas[data-cells="${NODES}"]`)).toBeVisible();
    await sidecar.restart({ kind: "List", items: all.filter(({ metadata }) => metadata.name !== "worker-19") });
    await expect(page.locator(`canvas[data-cells="${NODES - 1}"]`)).toBeVisible({ timeout: 40_000 });
    await expect(page.getByText("The sidecar has restarted")).toBeVisible();
  } finally {
    await close();
  }
});

test("scores are asked for again where they are on the screen, and not while nobody sees them", async ({ page }) => {
  const api = await ApiServer.start(items());
  const { site, close } = await openSite(await startSidecar({ kubeconfig: api.kubeconfig }));
  try {
    let asked = 0;
    page.on("request", (request) => (asked += request.url().endsWith("/v1/filter") ? 1 : 0));
    await page.setViewportSize({ width: 1280, height: 400 });
    await page.goto(`${site.url}#/pods/shop/small-0`);
    const table = page.getByRole("table", { name: "Best nodes with their scores" });
    await expect(table).toBeAttached();
    expect(asked).toBe(1);
    api.remove("Node", "worker-01");
    await expect(page.getByRole("heading", { name: `${NODES - 1} nodes in all` })).toBeVisible();
    expect(asked).toBe(1);
    await expect(table.getByRole("rowheader", { name: "worker-01" })).toBeAttached();
    await table.scrollIntoViewIfNeeded();
    await expect(table.getByRole("rowheader", { name: "worker-01" })).not.toBeAttached();
    expect(asked).toBe(2);
  } finally {
    await close();
    await api.close();
  }
});
