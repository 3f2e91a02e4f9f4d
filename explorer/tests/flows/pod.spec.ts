// The page of a pod: from the list of pending pods to the cause and its evidence, by mouse and by keyboard; the map counted pixel by
// pixel; copies of the answer; and a pod that is not there, or not any more. Start at the first test.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Page } from "@playwright/test";
import type { FilterAnswer } from "../../src/api/types";
import type { Why } from "../../src/api/why";
import { ask, expect, NODES, picture, test } from "../support/pods";
import { program } from "../support/sidecar";

/** Runs a program; not synchronously, since the server of the page is in this process. */
const run = async (file: string, words: string[]): Promise<string> => (await promisify(execFile)(file, words)).stdout;

/** A pod that needs room: 7 of 8 cores, of which pods take 5 on most nodes. */
const TIGHT = "#/pods/jobs/tight-0";

async function isDrawn(page: Page, cells: number): Promise<void> {
  await expect(page.locator(`canvas[data-cells="${cells}"]`)).toBeVisible();
}

test("a reader comes from the pending pods to the cause and its evidence by mouse", async ({ page, site }) => {
  await page.goto(`${site.url}#/pending?q=tight`);
  await page.getByRole("link", { name: "tight-0" }).first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("jobs/tight-0");
  await expect(page.locator(".headline")).toContainText("NoRoom");
  await isDrawn(page, NODES);
  await page.getByRole("button", { name: "NodeResourcesFit" }).click();
  await expect(page.getByRole("heading", { name: "nodes lost at NodeResourcesFit" })).toBeVisible();
  await page.getByRole("grid", { name: "Nodes lost at NodeResourcesFit" }).getByText("worker-01").click();
  const panel = page.getByRole("region", { name: "Node worker-01" });
  await expect(panel).toContainText("NodeResourcesFit: wants 7 cpu");
  await expect(page.getByRole("region", { name: "Resources", exact: true })).toContainText("cpu");
  await picture(page, "pod");
  await panel.getByRole("button", { name: "Close" }).click();
  await expect(panel).toBeHidden();
});

test("the same by keyboard alone", async ({ page, site }) => {
  await page.goto(`${site.url}#/pending?q=tight`);
  await expect(page.getByRole("link", { name: "tight-0" }).first()).toBeVisible();
  await tabTo(page, "tight-0");
  await page.keyboard.press("Enter");
  await isDrawn(page, NODES);
  await tabTo(page, "NodeResourcesFit");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "nodes lost at NodeResourcesFit" })).toBeVisible();
  // The map is one stop, which says the node of its cell.
  const map = page.getByRole("slider");
  await tabTo(page, "nodes by first obstacle");
  await expect(map).toBeFocused();
  const first = await map.getAttribute("aria-valuetext");
  await page.keyboard.press("ArrowRight");
  await expect(map).not.toHaveAttribute("aria-valuetext", first ?? "");
  await page.keyboard.press("Enter");
  const panel = page.getByRole("region", { name: /^Node / });
  await expect(panel).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(panel).toBeHidden();
  // So is the table.
  await page.goto(`${site.url}${TIGHT}?step=NodeResourcesFit`);
  await isDrawn(page, NODES);
  await page.keyboard.press("j");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("region", { name: /^Node worker/ })).toContainText("NodeResourcesFit");
});

/** Presses Tab until what has the focus has this in its name. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let stops = 0; stops < 80; stops += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      return element?.getAttribute("aria-label") ?? element?.textContent ?? "";
    });
    if (focused.includes(name)) return;
  }
  throw new Error(`Tab leads to nothing named ${name}`);
}

test("pixels of the map are as many as the answer has nodes", async ({ page, site }) => {
  const answer = await ask<Why>(site, "v1/why?pod=jobs/tight-0&cells=true");
  await page.goto(`${site.url}${TIGHT}?by=none`);
  await isDrawn(page, answer.nodes);
  const { colours, side } = await page.evaluate(() => {
    const canvas = document.querySelector("canvas")!;
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    const colours: Record<string, number> = {};
    for (let at = 0; at < data.length; at += 4) {
      const colour = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
      if (data[at + 3] === 255) colours[colour] = (colours[colour] ?? 0) + 1;
    }
    const cursor = document.querySelector<HTMLElement>(".heatmap-cursor")!;
    return { colours, side: Math.round(cursor.offsetWidth * devicePixelRatio) };
  });
  const nodesOf = async (name: string): Promise<number> => {
    // The legend has the mark of each predicate in the colours of its cells.
    const swatch = page.getByRole("button", { name }).locator(".swatch");
    const of = await swatch.evaluate((element) => {
      const { backgroundColor, color } = getComputedStyle(element);
      return [backgroundColor, color];
    });
    return of.reduce((sum, colour) => sum + (colours[colour] ?? 0), 0) / side ** 2;
  };
  for (const step of answer.funnel.filter(({ rejected }) => rejected > 0)) {
    expect(await nodesOf(step.predicate), step.predicate).toBe(step.rejected);
  }
  expect(await nodesOf("Nodes that fit")).toBe(answer.feasibleCount);
  const all = Object.values(colours).reduce((sum, pixels) => sum + pixels, 0);
  expect(all / side ** 2).toBe(answer.nodes);
});

test("nodes are grouped by any label, and a selected step dims the others", async ({ page, site }) => {
  await page.goto(`${site.url}${TIGHT}`);
  await expect(page.locator(".heatmap-heading")).toHaveCount(3);
  await page.getByLabel("Grouped by label").fill("pool");
  await expect(page.locator(".heatmap-heading")).toContainText([/general/, /gpu/, /without/]);
  await expect(page).toHaveURL(/by=pool/);
  await page.getByLabel("Grouped by label").fill("none");
  await expect(page.locator(".heatmap-heading")).toHaveCount(0);
  const opaque = () =>
    page.evaluate(() => {
      const canvas = document.querySelector("canvas")!;
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, at) => at % 4 === 3 && value === 255).length;
    });
  const before = await opaque();
  await page.getByRole("button", { name: "Nodes that fit" }).click();
  await expect.poll(opaque).toBeLessThan(before);
});

test("edits that would help are evaluated on demand, and lead to the what-if", async ({ page, site }) => {
  await page.goto(`${site.url}${TIGHT}`);
  await expect(page.getByRole("button", { name: "Evaluate single edits" })).toBeVisible();
  await page.keyboard.press("h");
  const table = page.getByRole("region", { name: "Edits that would help" });
  await expect(table).toContainText("drop=nodeSelector");
  await table.getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("What if");
  await expect(page.locator(".headline")).toContainText("+");
});

test("the nodes that fit stand with their scores, the best first, and ties are told", async ({ page, site }) => {
  await page.goto(`${site.url}#/pods/shop/small-0`);
  const question = { pods: [{ name: { namespace: "shop", name: "small-0" } }], scores: { top: 10, each: true } };
  const answer = await page.request.post(`${site.url}v1/filter`, { data: question });
  const { best, ties, scorers } = ((await answer.json()) as FilterAnswer).pods[0]!.scores!;
  const table = page.getByRole("table", { name: "Best nodes with their scores" });
  await expect(table.getByRole("rowheader")).toHaveText(best.map(({ node }) => node));
  const scored = scorers.map(({ outcome }) => outcome === "Scored");
  await expect(table.getByRole("columnheader")).toHaveCount(3 + scored.filter(Boolean).length);
  const second = table.getByRole("row").nth(2);
  const each = best[1]!.each.filter((_, at) => scored[at]);
  await expect(second.getByRole("cell")).toHaveText(["2, tie", best[1]!.total, ...each.map(({ normalized }) => normalized ?? "–")]);
  await expect(second.getByTitle(`raw ${each[0]!.raw}, ${each[0]!.weighted} of the total`)).toBeVisible();
  await expect(page.getByText(`${ties} more nodes have the total of the last one.`)).toBeVisible();
  await expect(page.getByText("With nothing to say about this pod:")).toContainText("NodeAffinity");
  await picture(page, "pod-scores");
  await table.getByRole("link", { name: "worker-01" }).click();
  await expect(page.getByRole("region", { name: "Node worker-01" })).toContainText("The pod fits this node.");
});

test("the answer is copied as link, command, Markdown, curl, JSON and picture", async ({ page, site, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${site.url}${TIGHT}`);
  await isDrawn(page, NODES);
  const copied = async (label: string): Promise<string> => {
    await page.getByRole("button", { name: "Copy as" }).click();
    await page.getByRole("button", { name: label, exact: true }).click();
    await expect(page.locator(".menu-done")).toContainText(label);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  expect(await copied("Link")).toBe(`${site.url}${TIGHT}`);
  const command = await copied("Command");
  expect(command).toBe("nodesift why tight-0 -n jobs --by topology.kubernetes.io/zone");
  const said = await run(program(), [...command.split(" ").slice(1), "--server", site.sidecar.url]);
  expect(said).toContain("NoRoom");
  const markdown = await copied("Markdown");
  expect(markdown).toContain("### `jobs/tight-0 NoRoom");
  expect(markdown).toContain("| `NodeResourcesFit` |");
  const [, ...curl] = (await copied("curl")).replaceAll("'", "").split(" ");
  const byCurl = JSON.parse(await run("curl", curl)) as Why;
  const json = JSON.parse(await copied("JSON")) as Why;
  expect(json.funnel).toEqual(byCurl.funnel);
  await page.getByRole("button", { name: "Copy as" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "PNG of the map" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("jobs-tight-0.png");
  await file.saveAs("test-results/pictures/map-as-png.png");
});

test("a pod that is unknown proposes those with a name like it", async ({ page, site }) => {
  await page.goto(`${site.url}#/pods/jobs/tihgt-0`);
  const box = page.getByRole("group", { name: "Not here" });
  await expect(box).toContainText("pod jobs/tihgt-0 is not in the cache");
  await box.getByRole("link", { name: "jobs/tight-0" }).click();
  await expect(page.locator(".headline")).toContainText("NoRoom");
});

test("the page fits 320 pixels, paper, and a zoom of 400 %", async ({ page, site }) => {
  await page.setViewportSize({ width: 320, height: 800 });
  await page.goto(`${site.url}${TIGHT}?node=worker-01`);
  await isDrawn(page, NODES);
  await expect(page.getByRole("region", { name: "Node worker-01" })).toContainText("wants");
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(await overflow()).toBe(0);
  await picture(page, "pod-320");
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.emulateMedia({ media: "print" });
  await picture(page, "pod-print");
  await expect(page.getByRole("button", { name: "Print" })).toBeHidden();
});

test("the tree of the pod's page is what a screen reader needs", async ({ page, site }) => {
  await page.goto(`${site.url}${TIGHT}?node=worker-01`);
  await isDrawn(page, NODES);
  await expect(page.getByRole("region", { name: "Node worker-01" })).toContainText("wants");
  await expect(page.getByRole("main")).toMatchAriaSnapshot({ name: "pod.aria.yml" });
});
