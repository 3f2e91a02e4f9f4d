// The list of pending pods: filters, groups, files and keys, against the sidecar's own answers.

import { readFile } from "node:fs/promises";
import type { Pending } from "../../src/api/types";
import { ask, expect, picture, test } from "../support/fixtures";

test("what is typed filters the list and is in the address, which opens the same in a fresh browser", async ({ page, site, browser, watch }) => {
  await page.goto(`${site.url}#/pending`);
  await page.getByLabel("Name contains").fill("shop/web-1");
  const { matching, total } = await ask<Pending>(site, "v1/pending?q=shop/web-1");
  const summary = `${matching} of ${total} pending pods selected`;
  await expect(page.getByRole("main").getByText(summary)).toBeVisible();
  await expect(page).toHaveURL(/q=shop%2Fweb-1/);
  const other = await watch(await (await browser.newContext()).newPage());
  await other.goto(page.url());
  await expect(other.getByRole("main").getByText(summary)).toBeVisible();
  await expect(other.getByLabel("Name contains")).toHaveValue("shop/web-1");
  await other.context().close();
});

test("groups change with the choice, and a group leads to its pods", async ({ page, site }) => {
  await page.goto(`${site.url}#/pending`);
  for (const by of ["cause", "predicate", "namespace", "owner"]) {
    const { groups } = await ask<Pending>(site, `v1/pending?by=${by}&limit=0`);
    await page.getByLabel("Group by").selectOption(by);
    await expect(page.getByRole("grid", { name: `Groups by ${by}` }).getByRole("row")).toHaveCount(groups.length + 1);
  }
  await picture(page, "pending-by-owner");
  await page.getByRole("gridcell", { name: "Job/jobs/batch" }).click();
  await expect(page.getByRole("main").getByText("7 of 34 pending pods selected")).toBeVisible();
  await page.getByRole("link", { name: "Clear the filter" }).click();
  await expect(page.getByRole("main").getByText("34 of 34 pending pods selected")).toBeVisible();
});

test("by keyboard alone: filter, cause, groups, a pod", async ({ page, site }) => {
  await page.goto(`${site.url}#/pending`);
  await expect(page.getByRole("grid", { name: "Pods" })).toBeVisible();
  await page.keyboard.press("/");
  await expect(page.getByLabel("Name contains")).toBeFocused();
  await page.keyboard.type("jobs/");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main").getByText("12 of 34 pending pods selected")).toBeVisible();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await expect(page.getByLabel("Cause")).toBeFocused();
  await page.keyboard.type("NoR");
  await expect(page.getByRole("main").getByText("5 of 34 pending pods selected")).toBeVisible();
  const pods = page.getByRole("grid", { name: "Pods" });
  const first = pods.getByRole("gridcell").first();
  for (let stop = 0; stop < 20 && !(await first.evaluate((element) => element === document.activeElement)); stop += 1) {
    await page.keyboard.press("Tab");
  }
  await expect(first).toBeFocused();
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("k");
  await page.keyboard.press("End");
  await expect(pods.getByRole("row").nth(2).getByRole("gridcell").last()).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/pods\/jobs\/tight-1$/);
});

test("the files have all pods of the filter, and no cell that a spreadsheet runs", async ({ page, site }) => {
  await page.goto(`${site.url}#/pending?cause=NeverFits`);
  const save = async (item: string) => {
    await page.getByRole("button", { name: /Copy as/ }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: item }).click();
    return readFile(await (await download).path(), "utf8");
  };
  const { matching } = await ask<Pending>(site, "v1/pending?cause=NeverFits");
  const lines = (await save("CSV file")).trimEnd().split("\r\n");
  expect(lines).toHaveLength(matching + 1);
  expect(lines[0]).toMatch(/^namespace,name,cause,answer,/);
  expect(lines[1]).toMatch(/^"'\+sheet","'=cmd",NeverFits,/);
  const pods = JSON.parse(await save("JSON file")) as { name: string }[];
  expect(pods).toHaveLength(matching);
  expect(pods[0]?.name).toBe("=cmd");
});

test("an unchanged list costs no body, and a filter that nobody has says so", async ({ page, site }) => {
  const unchanged = page.waitForResponse((response) => response.url().includes("v1/pending") && response.status() === 304);
  await page.goto(`${site.url}#/pending`);
  await unchanged;
  await page.getByLabel("Name contains").fill("nobody");
  await expect(page.getByText("No pending pod has all of this.")).toBeVisible();
});
