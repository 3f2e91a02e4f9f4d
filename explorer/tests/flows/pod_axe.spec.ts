// The pages about one pod for readers with assistive technology, and under hostile text: axe finds nothing in three colour schemes, and
// no name, label or reason is run. Start at the first test.

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { HOSTILE } from "../support/hostile";
import { expect, picture, test } from "../support/pods";

const PAGES = [
  ["pod", "#/pods/jobs/tight-0?node=worker-01&step=NodeResourcesFit"],
  ["pod-scores", "#/pods/shop/small-0"],
  ["pod-unknown", "#/pods/jobs/tihgt-0"],
  ["try", "#/pods/jobs/tight-0/try?e=cpu%3D3x&e=node%2B%3Dworker-01*2"],
  ["manifest", "#/try"],
] as const;

for (const scheme of ["light", "dark", "forced"] as const) {
  test(`axe finds nothing on the pages about a pod, ${scheme}`, async ({ page, site }) => {
    test.slow();
    await page.emulateMedia(scheme === "forced" ? { forcedColors: "active" } : { colorScheme: scheme });
    for (const [name, address] of PAGES) {
      await page.goto("about:blank");
      await page.goto(site.url + address);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      if (name === "pod") await expect(page.getByRole("region", { name: "Node worker-01" })).toContainText("wants");
      if (name === "pod-scores") await expect(page.getByRole("table", { name: "Best nodes" })).toBeVisible();
      if (name === "try") await expect(page.locator(".field-error")).toBeVisible();
      if (name === "pod-unknown") await expect(page.getByRole("link", { name: "jobs/tight-0" })).toBeVisible();
      await picture(page, `${name}-${scheme}`);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${name}: ${id}: ${nodes.map(({ target }) => target.join(" ")).join("; ")}`)).toEqual([]);
    }
  });
}

test("hostile names, labels and reasons are shown and not run", async ({ page, site }) => {
  // Every text of the answers is hostile, but for those that the page takes apart.
  const kept = new Set(["code", "interface", "generation", "policyGeneration", "cells", "since", "edit", "field", "outcome"]);
  const poisoned = (value: unknown, name = ""): unknown => {
    if (typeof value === "string") return kept.has(name) || /^-?[0-9]+$/.test(value) ? value : `${value} ${HOSTILE}`;
    if (Array.isArray(value)) return value.map((item) => poisoned(item, name));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, poisoned(item, key)]));
  };
  await page.route(/\/v1\/(why|filter|pods|nodes)/, async (route) => {
    const answer = await route.fetch();
    if (answer.status() !== 200) return route.fulfill({ response: answer });
    await route.fulfill({ response: answer, json: poisoned(await answer.json()) });
  });
  await page.goto(`${site.url}#/pods/jobs/tight-0?node=worker-01`);
  await expect(page.locator("canvas")).toBeVisible();
  await page.getByRole("button", { name: "Evaluate single edits" }).click();
  await expect(page.getByRole("region", { name: "Edits that would help" })).toBeVisible();
  await expect(page.locator(".panel .obstacles")).toContainText("<img src=x");
  await picture(page, "pod-hostile");
  // Nothing reorders what stands beside it.
  expect(await unmarked(page)).toEqual([]);
  await page.goto(`${site.url}#/pods/shop/small-0`);
  await expect(page.getByRole("table", { name: "Best nodes" })).toContainText("<img src=x");
  expect(await unmarked(page)).toEqual([]);
  await page.goto(`${site.url}#/pods/jobs/tight-0/try?e=cpu%3D3`);
  await expect(page.locator(".headline")).toContainText("→");
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.title()).not.toBe("1");
  expect(await unmarked(page)).toEqual([]);
});

/** Texts of the page in which a character that changes the direction is not shown as a mark. */
function unmarked(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found: string[] = [];
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode as Text;
      if (data.includes("\u202e")) found.push(`${parentElement?.closest("[class]")?.className}: ${data}`);
    }
    return found;
  });
}

test("an address with a hostile name opens, and shows the name letter by letter", async ({ page, site }) => {
  await page.goto(`${site.url}#/pods/odd/${encodeURIComponent(`odd${HOSTILE}`)}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText("odd<img src=x onerror=\"document.title=1\">U+202E");
  await expect(page.getByRole("group", { name: "Not here" })).toBeVisible();
});
