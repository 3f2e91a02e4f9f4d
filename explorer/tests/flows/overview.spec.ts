// The overview against the sidecar's own numbers, by mouse and by keyboard alone.

import type { Pending } from "../../src/api/types";
import { ask, expect, picture, test } from "../support/fixtures";

test("every number is that of the sidecar, and leads to the pods that it counts", async ({ page, site }) => {
  const { total, causes } = await ask<Pending>(site, "v1/pending?limit=0");
  await page.goto(site.url);
  const numbers = page.getByRole("list", { name: "Pending pods" });
  await expect(numbers.getByRole("link", { name: `${total} pending` })).toBeVisible();
  await expect(numbers.getByRole("link", { name: `${causes["NeverFits"]} never fit` })).toBeVisible();
  await picture(page, "overview");
  await numbers.getByRole("link", { name: `${causes["NoRoom"]} have no room` }).click();
  await expect(page).toHaveURL(/#\/pending\?cause=NoRoom$/);
  await expect(page.getByText(`${causes["NoRoom"]} of ${total} pending pods selected`)).toBeVisible();
});

test("bars have every cause that there is, and lead to its pods", async ({ page, site }) => {
  const { causes } = await ask<Pending>(site, "v1/pending?limit=0");
  await page.goto(site.url);
  const bars = page.getByRole("list", { name: "Pending pods by cause" });
  const some = Object.values(causes).filter((count) => count > 0);
  await expect(bars.getByRole("listitem")).toHaveCount(some.length);
  await bars.getByRole("link", { name: /^Gated/ }).click();
  await expect(page.getByRole("grid", { name: "Pods" }).getByRole("link", { name: "shop/gated" })).toBeVisible();
});

test("by keyboard alone: to a number, its pods, and the largest group's first pod", async ({ page, site }) => {
  await page.goto(site.url);
  const number = page.getByRole("link", { name: /never fit$/ });
  await expect(number).toBeVisible();
  for (let stop = 0; stop < 40 && !(await number.evaluate((element) => element === document.activeElement)); stop += 1) {
    await page.keyboard.press("Tab");
  }
  await expect(number).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/cause=NeverFits/);
  await expect(page.getByRole("main")).toBeFocused();
  await page.goBack();
  await expect(page.getByRole("grid", { name: "Largest groups of pending pods" })).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/pods\/shop\/web-0$/);
});

test("the first Tab stop skips to the content, and the title follows the page", async ({ page, site }) => {
  await page.goto(site.url);
  await expect(page).toHaveTitle("Overview · nodesift");
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to the content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  await page.getByRole("link", { name: "Nodes", exact: true }).click();
  await expect(page).toHaveTitle("Nodes · nodesift");
});

test("shortcuts are listed under ?, and once switched off they stay off", async ({ page, site }) => {
  await page.goto(`${site.url}#/pending`);
  await expect(page.getByRole("grid", { name: "Pods" })).toBeVisible();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect(dialog.getByText("to the filter")).toBeVisible();
  await dialog.getByRole("checkbox").uncheck();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.reload();
  await expect(page.getByRole("grid", { name: "Pods" })).toBeVisible();
  await page.keyboard.press("?");
  await page.keyboard.press("/");
  await expect(dialog).toBeHidden();
  await expect(page.getByLabel("Name contains")).not.toBeFocused();
  await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
  await expect(dialog.getByRole("checkbox")).not.toBeChecked();
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
});
