// axe on every route in light, dark and forced colours, 320 pixels and text of four times the size; with a picture of each.

import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, picture, type Site, test } from "../support/fixtures";

/** Addresses with something that is there once the page is complete. */
const PAGES: [string, string, (page: Page) => ReturnType<Page["getByText"]>][] = [
  ["overview", "#/", (page) => page.getByRole("region", { name: "Active policy" }).getByText("in quarantine")],
  ["pending", "#/pending", (page) => page.getByRole("grid", { name: "Pods" })],
  ["pending-filtered", "#/pending?by=predicate&cause=NeverFits", (page) => page.getByRole("grid", { name: "Groups by predicate" })],
  ["nodes", "#/nodes?by=pool&where=cpu.free>=1", (page) => page.getByRole("grid", { name: "Nodes" })],
  ["node", "#/nodes/worker-00?pod=jobs/tight-0", (page) => page.getByRole("region", { name: "on this node" }).getByRole("listitem")],
  ["policy", "#/policy", (page) => page.getByRole("table", { name: "Predicates in policy order" })],
  ["policy-history", "#/policy/history", (page) => page.getByText("None since the start")],
  ["shadow", "#/shadow", (page) => page.getByText("Nothing is compared")],
  ["negotiations", "#/negotiations", (page) => page.getByText("no external parties")],
  ["about", "#/about", (page) => page.getByText("you may call")],
  ["none", "#/none", (page) => page.getByRole("heading", { name: "No such page" })],
];

const LOOKS = {
  light: { colorScheme: "light", forcedColors: "none" },
  dark: { colorScheme: "dark", forcedColors: "none" },
  forced: { colorScheme: "dark", forcedColors: "active" },
} as const;

async function open(page: Page, site: Site, address: string, complete: (page: Page) => ReturnType<Page["getByText"]>) {
  await page.goto(site.url + address);
  await expect(complete(page).first()).toBeVisible();
}

// axe reads the contrast of every text: minutes on a busy machine.
test.describe.configure({ timeout: 600_000 });

for (const [look, media] of Object.entries(LOOKS)) {
  test(`axe finds nothing in ${look} colours`, async ({ page, site }) => {
    await page.emulateMedia(media);
    for (const [name, address, complete] of PAGES) {
      await open(page, site, address, complete);
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${name}: ${id} ${nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`)).toEqual([]);
      await picture(page, `${name}-${look}`);
    }
  });
}

test("axe finds nothing in the list of shortcuts and in an open menu", async ({ page, site }) => {
  await open(page, site, "#/pending", (page) => page.getByRole("grid", { name: "Pods" }));
  await page.getByRole("button", { name: /Copy as/ }).click();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await picture(page, "menu");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await picture(page, "shortcuts");
});

test("nothing is wider than 320 pixels but what scrolls by itself", async ({ page, site }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  for (const [name, address, complete] of PAGES) {
    await open(page, site, address, complete);
    expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(320);
    await picture(page, `${name}-320`);
  }
});

test("at four times the size of text, pages reflow as on a narrow screen", async ({ page, site }) => {
  // A window of 1280 pixels at 400 % has 320 pixels of CSS, four of the screen's each.
  for (const [name, address, complete] of PAGES.slice(0, 4)) {
    await page.setViewportSize({ width: 1280, height: 1024 });
    await open(page, site, address, complete);
    await page.evaluate(() => (document.documentElement.style.fontSize = "56px"));
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), name).toBeLessThanOrEqual(0);
    await picture(page, `${name}-400`);
  }
});
