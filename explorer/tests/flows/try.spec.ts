// What-ifs: until the pod fits, by mouse and by keyboard, and from the link in a fresh browser; nodes copied, manifests pasted, edits that
// are wrong, and links that are. Start at the first test.

import type { Page } from "@playwright/test";
import { expect, NODES, picture, test } from "../support/pods";

const TRY = "#/pods/jobs/tight-0/try";

const result = (page: Page) => page.locator(".headline");

test("a what-if is changed until the pod fits, and its link gives the same in a fresh browser", async ({ page, site, browser, watch }) => {
  await page.goto(`${site.url}#/pods/jobs/tight-0`);
  await page.getByRole("link", { name: "Try changes" }).click();
  await expect(result(page)).toContainText("0 → 0");
  await page.getByRole("button", { name: "Add an edit" }).click();
  await page.getByLabel("Value: requests cpu").fill("4");
  await expect(page).toHaveURL(/e=cpu%3D4/);
  await expect(result(page)).toContainText("0 → 0");
  await page.getByLabel("Value: requests cpu").fill("3");
  await expect(result(page)).toContainText(/0 → \d+\s*\(\+/);
  await expect(page.getByRole("heading", { name: /^Gained: / })).toBeVisible();
  await expect(page.locator("[aria-live]")).toContainText(/\d+ nodes fit with the edits, 0 nodes without/);
  await picture(page, "try-fits");
  const said = await result(page).textContent();
  const other = await watch(await browser.newPage());
  await other.goto(page.url());
  await expect(result(other)).toHaveText(said ?? "");
  await expect(other.getByLabel("Value: requests cpu")).toHaveValue("3");
  await other.close();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByLabel("Value: requests cpu")).toHaveValue("4");
  await expect(result(page)).toContainText("0 → 0");
});

test("the same by keyboard alone", async ({ page, site }) => {
  await page.goto(`${site.url}#/pods/jobs/tight-0`);
  await expect(page.locator("canvas")).toBeVisible();
  await page.keyboard.press("t");
  await expect(result(page)).toContainText("0 → 0");
  for (let stops = 0; stops < 30; stops += 1) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement?.textContent)) === "Add an edit") break;
  }
  await page.keyboard.press("Enter");
  await expect(page.getByLabel("Kind of edit")).toBeFocused();
  await page.keyboard.press("Tab");
  await page.keyboard.type("3");
  await page.keyboard.press("Enter");
  await expect(result(page)).toContainText(/0 → \d+\s*\(\+/);
  await page.keyboard.press("Tab");
  await page.keyboard.press("u");
  await expect(result(page)).toContainText("0 → 0");
});

test("a node is copied three times from its panel", async ({ page, site }) => {
  await page.goto(`${site.url}#/pods/jobs/tight-0?node=worker-01`);
  await page.getByRole("link", { name: "one more node like this" }).click();
  await expect(result(page)).toContainText(`${NODES} → ${NODES + 1} nodes`);
  await page.getByLabel("Value: more nodes like").fill("worker-01*3");
  await expect(result(page)).toContainText("0 → 3");
  await expect(result(page)).toContainText(`${NODES} → ${NODES + 3} nodes`);
  await expect(page.getByText("3 added nodes, of which 3 fit")).toBeVisible();
  await expect(page.locator(".heatmap-heading").filter({ hasText: "(added)" })).toBeVisible();
  // Scores are those with the edits, and a node that is not there has no page.
  const best = page.getByRole("table", { name: "Best nodes with their scores" });
  await expect(best.getByRole("rowheader")).toHaveText(["worker-01-copy-1", "worker-01-copy-2", "worker-01-copy-3"]);
  await expect(best.getByRole("link")).toHaveCount(0);
});

test("nodes are uncordoned and untainted, and pods leave", async ({ page, site }) => {
  const edits = ["uncordon=worker-15", "untaint=gpu", "without=load/busy-1"].map((edit) => `e=${encodeURIComponent(edit)}`).join("&");
  await page.goto(`${site.url}${TRY}?${edits}`);
  await expect(result(page)).toContainText(/0 → 2/);
  await expect(page.getByRole("heading", { name: "Gained: 2 nodes" })).toBeVisible();
});

test("a value that the sidecar refuses says so beside its field, and the last good result stays", async ({ page, site }) => {
  await page.goto(`${site.url}${TRY}?e=cpu%3D3`);
  await expect(result(page)).toContainText(/\(\+/);
  const said = (await result(page).textContent()) ?? "";
  const field = page.getByLabel("Value: requests cpu");
  await field.fill("3x");
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await expect(page.locator(".field-error")).toContainText('pod.object.spec.containers[0].resources.requests.cpu: "3x" is not a quantity');
  await expect(page.locator(".outdated")).toContainText("The last good result");
  await expect(result(page)).toHaveText(said);
  await picture(page, "try-refused");
  await field.fill("-1");
  await expect(page.locator(".field-error")).toContainText("a quantity of at least 0");
  await field.fill("2");
  await expect(page.locator(".field-error")).toBeHidden();
  await expect(page.locator(".outdated")).toBeHidden();
});

for (const [what, query, said] of [
  ["a broken edit", "e=cpu%3D3&e=%ZZ", 'edit 2 of the link: "%ZZ" is no edit'],
  ["a foreign edit", "e=cpu%3D3&e=colour%3Dred", 'edit 2 of the link: "colour" is no edit'],
  ["too many edits", Array.from({ length: 40 }, () => "e=cpu%3D3").join("&"), "the link has 40 edits, 32 at most"],
] as const) {
  test(`a link with ${what} opens, names it and applies none`, async ({ page, site }) => {
    await page.goto(`${site.url}${TRY}?${query}`);
    await expect(page.getByRole("group", { name: "Link" })).toContainText(said);
    await expect(result(page)).toContainText("0 → 0");
    await expect(page.getByText("No edit yet")).toBeVisible();
  });
}

test("an edit about a node that is not there is named beside its field", async ({ page, site }) => {
  await page.goto(`${site.url}${TRY}?e=cpu%3D3&e=uncordon%3Dworker-99`);
  await expect(page.locator(".edit").nth(1).locator(".field-error")).toContainText("worker-99");
  await expect(page.locator(".edit").nth(0).locator(".field-error")).toHaveCount(0);
  await expect(page.locator(".outdated .headline")).toContainText("0 → 0");
});

const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: front
  namespace: shop
spec:
  template:
    spec:
      containers:
        - name: main
          resources: {requests: {cpu: "CPU"}}
`;

test("a manifest is pasted, changed, and compared with itself", async ({ page, site }) => {
  await page.goto(`${site.url}#/try`);
  const field = page.getByLabel("Manifest in YAML or JSON");
  await field.fill(DEPLOYMENT.replace("CPU", "40"));
  await expect(result(page)).toContainText("0 → 0");
  await page.getByRole("button", { name: "Compare later versions with this one" }).click();
  await field.fill(DEPLOYMENT.replace("CPU", "2"));
  await expect(result(page)).toContainText(/0 → \d+\s*\(\+/);
  const said = (await result(page).textContent()) ?? "";
  await field.fill(DEPLOYMENT.replace("CPU", "two"));
  await expect(page.locator("#manifest-error")).toContainText('manifest.spec.containers[0].resources.requests.cpu: "two" is not a quantity');
  await expect(page.locator(".outdated")).toBeVisible();
  await expect(result(page)).toHaveText(said);
  await picture(page, "try-manifest");
  await field.fill("kind: Service\n");
  await expect(page.locator("#manifest-error")).toContainText("is none of Pod, CronJob, Deployment");
});

test("of several documents one is chosen, and a manifest that is too large is not sent", async ({ page, site }) => {
  await page.goto(`${site.url}#/try`);
  const field = page.getByLabel("Manifest in YAML or JSON");
  await field.fill(`kind: Service\nmetadata:\n  name: web\n---\n${DEPLOYMENT.replace("CPU", "2")}`);
  await expect(page.locator("#manifest-error")).toContainText("is none of Pod");
  await page.getByLabel("2 documents").selectOption({ label: "2: Deployment front" });
  await expect(result(page)).toContainText("→");
  let sent = 0;
  page.on("request", (request) => (sent += request.method() === "POST" ? 1 : 0));
  await field.evaluate((element: HTMLTextAreaElement) => {
    element.value = `kind: Pod\n#${"x".repeat(600_000)}`;
    element.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await expect(page.locator("#manifest-error")).toContainText("524288 is the most that is sent");
  expect(sent).toBe(0);
});

test("a question that holds too many nodes names the edit that adds them", async ({ page, site }) => {
  const row = page.locator(".edit").nth(1);
  await page.route(/v1\/why$/, async (route) => {
    if ((route.request().postData()?.length ?? 0) < 10_000) return route.fallback();
    await route.fulfill({ status: 413, json: { error: { code: "RESOURCE_EXHAUSTED", message: "a body of more than 4 MiB" } } });
  });
  await page.goto(`${site.url}${TRY}?e=cpu%3D3&e=${encodeURIComponent("node+=worker-01*100")}`);
  await expect(row.locator(".field-error")).toHaveText("a body of more than 4 MiB");
  await expect(page.locator(".outdated .headline")).toContainText("0 → 0");
});

test("nothing but questions leaves the page", async ({ page, site }) => {
  const asked = new Set<string>();
  page.on("request", (request) => asked.add(`${request.method()} ${new URL(request.url()).pathname}`));
  await page.goto(`${site.url}${TRY}?e=cpu%3D3&e=node%2B%3Dworker-01*2`);
  await expect(result(page)).toContainText("→");
  expect([...asked].filter((call) => !call.startsWith("GET "))).toEqual(["POST /v1/why", "POST /v1/filter"]);
});
