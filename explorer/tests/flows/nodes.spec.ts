// The table of nodes and the page of one node, by mouse and by keyboard alone.

import { readFile } from "node:fs/promises";
import { ask, expect, openSite, picture, test } from "../support/fixtures";
// @ts-expect-error: plain JavaScript, as it writes cluster files by itself
import { cluster, largeCluster, taintedCluster } from "../support/cluster.mjs";
import { startSidecar } from "../support/sidecar";

test("conditions select nodes, the address holds them, and a wrong one is named beside the field", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes`);
  await expect(page.getByRole("main").getByText("22 of 22 nodes selected")).toBeVisible();
  await page.getByLabel("Where").fill("cpu.free>=8 taint=gpu");
  await expect(page.getByRole("main").getByText("4 of 22 nodes selected")).toBeVisible();
  await expect(page).toHaveURL(/where=cpu\.free%3E%3D8\+taint%3Dgpu/);
  await page.getByLabel("Where").fill("cpu.free>lots");
  await expect(page.getByLabel("Where")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByText(/“lots” is no amount of cpu/)).toBeVisible();
});

test("groups by a label add up, and one leads to its nodes", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes?by=pool`);
  const table = page.getByRole("table", { name: "Selected nodes by pool" });
  await expect(table.getByRole("row", { name: /general/ }).getByRole("cell").first()).toHaveText("16");
  await picture(page, "nodes-by-pool");
  await table.getByRole("link", { name: "gpu" }).click();
  await expect(page.getByRole("main").getByText("4 of 22 nodes selected")).toBeVisible();
});

test("a column sorts both ways", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes?where=name~worker`);
  const first = page.getByRole("grid", { name: "Nodes" }).getByRole("row").nth(1);
  await page.getByRole("button", { name: "cpu free" }).click();
  await expect(page.getByRole("columnheader", { name: "cpu free" })).toHaveAttribute("aria-sort", "descending");
  await expect(first).toContainText("8 of 8");
  await page.getByRole("button", { name: /cpu free/ }).click();
  await expect(first).toContainText("worker-00");
  await expect(first).toContainText("1 of 8");
});

test("by keyboard alone: to a node, its pods, and what they take", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes?where=name~worker`);
  await expect(page.getByRole("grid", { name: "Nodes" })).toBeVisible();
  await page.keyboard.press("j");
  await expect(page.getByRole("gridcell", { name: "worker-00" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Node worker-00" })).toBeVisible();
  const cpu = page.getByRole("table", { name: "Resources of the node" }).getByRole("row", { name: /^cpu/ });
  // Allocatable, own, of others, assumed, terminating, free.
  await expect(cpu.getByRole("cell")).toHaveText(["–", "8", "6", "1", "0", "1", "1"]);
  await expect(page.getByRole("table", { name: "Own pods" }).getByRole("row", { name: /load\/ending/ })).toContainText("terminating");
  await expect(page.getByRole("table", { name: "Pods of others" })).toContainText("load/other");
  await picture(page, "node");
});

test("with a pod, the page of a node says which predicates reject it there", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes/worker-16?pod=jobs/tight-0`);
  const fit = page.getByRole("region", { name: "Pod jobs/tight-0 on this node" });
  await expect(fit).toContainText("TaintToleration: gpu=true:NoSchedule");
  await page.goto(`${site.url}#/nodes/worker-01?pod=shop/small-0`);
  await expect(page.getByText("The pod fits this node.")).toBeVisible();
});

test("the page of a node says which pending pods it is nearest for, and which would fit with an edit", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes/worker-15`);
  await page.getByRole("button", { name: "Who would fit here?" }).click();
  const table = page.getByRole("table", { name: "Pending pods by what keeps them off this node" });
  const tight = table.getByRole("row", { name: /jobs\/tight-0 and 4 like it/ });
  await expect(tight).toContainText("nearest");
  await expect(tight).toContainText("NodeUnschedulable");
  await page.getByLabel("What if").selectOption({ label: "it were not cordoned" });
  await expect(tight).toContainText("none: it fits");
  await picture(page, "node-pending");
  await tight.getByRole("link", { name: "with this edit" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("What if: jobs/tight-0");
  await expect(page.getByText("(+1)")).toBeVisible();
});

test("10,000 taints are shown on request, and some of them before", async ({ browser, watch }) => {
  const { site, close } = await openSite(await startSidecar({ cluster: taintedCluster() }));
  const context = await browser.newContext();
  try {
    const page = await watch(await context.newPage());
    await page.goto(`${site.url}#/nodes`);
    await expect(page.getByRole("grid", { name: "Nodes" })).toContainText("and 9,997 more");
    await page.goto(`${site.url}#/nodes/tainted`);
    await expect(page.getByText("example.com/taint-49=x:NoSchedule")).toBeVisible();
    await page.getByRole("button", { name: "Show all 10,000 taints" }).click();
    await expect(page.getByText("example.com/taint-9999=x:NoSchedule")).toBeAttached();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  } finally {
    await context.close();
    await close();
  }
});

test("a name of 253 bytes is shown without overflow", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes/${"long-".repeat(50)}end`);
  await expect(page.getByRole("heading", { name: /^Node long-/ })).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
});

test("a page of the table has as many rows in the document as are seen, and keys reach the last", async ({ browser, watch }) => {
  test.setTimeout(600_000);
  const { site, close } = await openSite(await startSidecar({ cluster: largeCluster(25_000) }));
  const context = await browser.newContext();
  try {
    const page = await watch(await context.newPage());
    await page.goto(`${site.url}#/nodes`);
    await expect(page.getByRole("main").getByText("25,000 of 25,000 nodes selected")).toBeVisible({ timeout: 60_000 });
    const grid = page.getByRole("grid", { name: "Nodes" });
    await expect(grid).toHaveAttribute("aria-rowcount", "25001");
    expect(await grid.getByRole("row").count()).toBeLessThan(70);
    await page.keyboard.press("j");
    await page.keyboard.press("Control+End");
    const last = grid.locator('[aria-rowindex="25001"]');
    await expect(last).toBeInViewport();
    await expect(last).toContainText("worker-024999");
    await expect(last.getByRole("gridcell").last()).toBeFocused();
    await page.keyboard.press("PageUp");
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/#\/nodes\/worker-0249\d\d$/);
  } finally {
    await context.close();
    await close();
  }
});

test("an assumed pod is on the page of its node, and the change in its history", async ({ browser, watch }) => {
  const { site, close } = await openSite(await startSidecar({ cluster: cluster() }));
  const context = await browser.newContext();
  try {
    const page = await watch(await context.newPage());
    await page.goto(`${site.url}#/nodes/worker-01`);
    await expect(page.getByText("None since the sidecar knows the node.")).toBeVisible();
    const body = JSON.stringify({ pod: { name: { namespace: "shop", name: "small-0" } }, node: "worker-01" });
    const answer = await fetch(`${site.sidecar.url}/v1/assume`, { method: "POST", headers: { "content-type": "application/json" }, body });
    expect(answer.status, await answer.text()).toBe(200);
    await expect(page.getByRole("table", { name: "Own pods" }).getByRole("row", { name: /small-0/ })).toContainText("assumed");
    await expect(page.getByRole("table", { name: /Last changes/ })).toContainText("ADD");
    await picture(page, "node-assumed");
    await page.goto(`${site.url}#/pending?cause=Assumed`);
    await expect(page.getByRole("main").getByText("1 of 34 pending pods selected")).toBeVisible();
  } finally {
    await context.close();
    await close();
  }
});

test("the CSV file has the selected nodes with all their taints", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes?where=taint=gpu`);
  await expect(page.getByRole("main").getByText("4 of 22 nodes selected")).toBeVisible();
  await page.getByRole("button", { name: /Copy as/ }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV file" }).click();
  const lines = (await readFile(await (await download).path(), "utf8")).trimEnd().split("\r\n");
  expect(lines[0]).toBe("node,cpu free,cpu allocatable,memory free,memory allocatable,pods free,pods allocatable,cordoned,taints");
  expect(lines[1]).toBe("worker-16,8000,8000,34359738368,34359738368,110,110,no,gpu=true:NoSchedule");
  expect(lines).toHaveLength(5);
  const { nodes } = await ask<{ nodes: number }>(site, "v1/nodes?columns=name&rows=0-0");
  expect(nodes).toBe(22);
});
