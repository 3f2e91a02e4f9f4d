// The policy, its reloads while the page is open, and the other documents of operators.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Policy } from "../../src/api/types";
import { ask, expect, openSite, picture, test } from "../support/fixtures";
// @ts-expect-error: plain JavaScript, as it writes cluster files by itself
import { cluster } from "../support/cluster.mjs";
import { startSidecar } from "../support/sidecar";

test("predicates and scorers stand in the order of the policy, with their counts", async ({ page, site }) => {
  const { predicates, scorers } = await ask<Policy>(site, "v1/policy");
  await page.goto(`${site.url}#/policy`);
  const table = page.getByRole("table", { name: "Predicates in policy order" });
  await expect(table.getByRole("rowheader")).toHaveText(predicates.map((predicate) => predicate.name));
  const scores = page.getByRole("table", { name: "Scorers in policy order" });
  await expect(scores.getByRole("rowheader")).toHaveText(scorers.map((scorer) => scorer.name));
  await expect(scores.getByRole("row", { name: /^TaintToleration/ }).getByRole("cell").first()).toHaveText("3");
  await picture(page, "policy");
  await table.getByRole("link", { name: "NodeAffinity" }).click();
  await expect(page).toHaveURL(/#\/pending\?predicate=NodeAffinity$/);
});

function policy(name: string, body: string): string {
  return `apiVersion: nodesift.dev/v1alpha1\nkind: PredicatePolicy\nmetadata: {name: ${name}}\nspec:\n  schedulerNames: [default-scheduler]\n${body}`;
}

test("a reload and a refusal are seen while the page is open", async ({ browser, watch }) => {
  const two = "  predicates:\n  - name: NodeUnschedulable\n  - name: NodeResourcesFit\n";
  const { site, close } = await openSite(await startSidecar({ cluster: cluster(), policy: policy("before", two) }));
  const context = await browser.newContext();
  try {
    const page = await watch(await context.newPage());
    await page.goto(`${site.url}#/policy`);
    await expect(page.getByRole("rowheader")).toHaveText(["NodeUnschedulable", "NodeResourcesFit"]);
    const file = join(site.sidecar.folder, "policy.yaml");
    await writeFile(file, policy("after", `${two}  - name: TaintToleration\n`));
    await expect(page.getByRole("rowheader")).toHaveText(["NodeUnschedulable", "NodeResourcesFit", "TaintToleration"], { timeout: 30_000 });
    await writeFile(file, policy("broken", "  predicates:\n  - name: NoSuchPredicate\n"));
    const refused = page.getByRole("region", { name: "The last document was refused" });
    await expect(refused).toContainText("NoSuchPredicate", { timeout: 30_000 });
    await picture(page, "policy-refused");
    await page.getByRole("link", { name: "all reloads" }).click();
    const history = page.getByRole("table", { name: "Reloads, the newest first" });
    await expect(history.getByRole("row").nth(1)).toContainText("refused");
    await expect(history.getByRole("row").nth(2)).toContainText("added: TaintToleration");
    await picture(page, "policy-history");
    await page.getByRole("link", { name: "Overview" }).click();
    await expect(page.getByRole("region", { name: "Something is wrong" })).toContainText("policy refused at step document of NoSuchPredicate");
    await picture(page, "overview-wrong");
  } finally {
    await context.close();
    await close();
  }
});

test("a shadow predicate's differences are shown", async ({ browser, watch }) => {
  const shadow = "  predicates:\n  - name: NodeResourcesFit\n  - name: TaintToleration\n    mode: Shadow\n";
  const { site, close } = await openSite(await startSidecar({ cluster: cluster(), policy: policy("shadow", shadow) }));
  const context = await browser.newContext();
  try {
    const page = await watch(await context.newPage());
    await page.goto(`${site.url}#/shadow`);
    const body = JSON.stringify({ pods: [{ name: { namespace: "shop", name: "small-0" } }] });
    const answer = await fetch(`${site.sidecar.url}/v1/filter`, { method: "POST", headers: { "content-type": "application/json" }, body });
    expect(answer.status, await answer.text()).toBe(200);
    await expect(page.getByRole("table", { name: "Last differences" })).toContainText("shop/small-0", { timeout: 30_000 });
    await expect(page.getByRole("table", { name: "Changes by predicate" })).toContainText("TaintToleration");
    await picture(page, "shadow");
  } finally {
    await context.close();
    await close();
  }
});

test("what is not there is said: no shadows, no parties, no reloads; and what runs is on the last page", async ({ page, site }) => {
  await page.goto(`${site.url}#/shadow`);
  await expect(page.getByText("Nothing is compared")).toBeVisible();
  await page.goto(`${site.url}#/negotiations`);
  await expect(page.getByText("The policy has no external parties.")).toBeVisible();
  await page.goto(`${site.url}#/policy/history`);
  await expect(page.getByText("None since the start of the process.")).toBeVisible();
  await page.goto(`${site.url}#/about`);
  await expect(page.getByText("nodesift:predicate@0.2.0")).toBeVisible();
  await expect(page.getByText("probe, read, operate")).toBeVisible();
});
