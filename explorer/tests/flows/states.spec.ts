// Bad states: the page says what is wrong, keeps the last answer with its age, asks again, and is never blank.

import { expect, openSite, picture, refuse, test } from "../support/fixtures";
// @ts-expect-error: plain JavaScript, as it writes cluster files by itself
import { cluster, largeCluster } from "../support/cluster.mjs";
import { startSidecar } from "../support/sidecar";

const REFUSALS: [number, string, string, string][] = [
  [503, "not ready, waiting for the list of pods: try again", "The sidecar is not ready", "not-ready"],
  [429, "too many requests: try again", "The sidecar is busy", "busy"],
  [504, "not answered within 1000 ms", "The sidecar has not answered in time", "timeout"],
  [403, "the client anybody may not read", "You may not read this", "forbidden"],
];

for (const [status, message, heading, name] of REFUSALS) {
  test(`${status} before the first answer: the state, its cause, and when the page asks again`, async ({ page, site }) => {
    await refuse(page, /\/v1\/(pending|nodes)/, status, message);
    await page.goto(`${site.url}#/pending`);
    const trouble = page.getByRole("main").getByRole("group", { name: "Trouble" });
    await expect(trouble).toContainText(heading);
    await expect(trouble).toContainText(message);
    await expect(trouble).toContainText(status === 403 ? "Nothing changes here by itself" : /asks again in \d+ s|asking again/);
    await picture(page, `state-${name}`);
    await page.goto(`${site.url}#/nodes`);
    await expect(trouble).toContainText(heading);
    await page.unroute(/\/v1\/(pending|nodes)/);
    if (status !== 403) await expect(page.getByRole("grid", { name: "Nodes" })).toBeVisible({ timeout: 30_000 });
  });

  test(`${status} after an answer: it stays, with its age, until the sidecar answers again`, async ({ page, site }) => {
    await page.goto(`${site.url}#/pending`);
    await expect(page.getByRole("grid", { name: "Pods" })).toBeVisible();
    await refuse(page, /\/v1\/(pending|nodes)/, status, message);
    const trouble = page.getByRole("main").getByRole("group", { name: "Trouble" });
    await expect(trouble).toContainText(/What is shown below is \d+ s old/);
    await expect(page.getByRole("banner")).toContainText(heading);
    await expect(page.getByRole("grid", { name: "Pods" })).toContainText("shop/web-0");
    await picture(page, `state-${name}-kept`);
    await page.unroute(/\/v1\/(pending|nodes)/);
    if (status === 403) return;
    await expect(trouble).toBeHidden({ timeout: 40_000 });
    await expect(page.getByRole("banner")).toContainText("live", { timeout: 40_000 });
  });
}

test("a sidecar that has gone and come back with another cluster: tables are dropped and asked for again", async ({ browser, watch }) => {
  test.setTimeout(120_000);
  const { site, close } = await openSite(await startSidecar({ cluster: cluster() }));
  const context = await browser.newContext();
  try {
    const page = await watch(await context.newPage());
    await page.goto(`${site.url}#/nodes`);
    const main = page.getByRole("main");
    await expect(main.getByText("22 of 22 nodes selected")).toBeVisible();
    await site.sidecar.halt();
    await expect(page.getByRole("banner")).toContainText("No connection to the sidecar", { timeout: 30_000 });
    await expect(page.getByRole("grid", { name: "Nodes" })).toContainText("hostile");
    await picture(page, "state-lost");
    await site.sidecar.startAgain(largeCluster(7));
    await expect(page.getByRole("banner")).toContainText("The sidecar has restarted", { timeout: 40_000 });
    await expect(main.getByText("7 of 7 nodes selected")).toBeVisible({ timeout: 40_000 });
    await expect(page.getByRole("grid", { name: "Nodes" })).not.toContainText("hostile");
    await picture(page, "state-restarted");
    await page.getByRole("link", { name: "Overview", exact: true }).click();
    await expect(page.getByRole("link", { name: "1 pending" })).toBeVisible();
  } finally {
    await context.close();
    await close();
  }
});

test("a stale source has a banner on every page", async ({ page, site }) => {
  await page.route(/rows=0-0/, async (route) => {
    const response = await route.fetch();
    // An answer that is as the one before has no document.
    if (response.status() === 304) return route.fulfill({ response });
    const answer = await response.json();
    answer.version = { ...answer.version, stale: true, stalenessMs: "45000" };
    await route.fulfill({ response, json: answer });
  });
  for (const path of ["#/", "#/policy"]) {
    await page.goto(site.url + path);
    await expect(page.getByRole("banner")).toContainText("the API server has confirmed nothing for a while (45 s when this was said)");
  }
  await picture(page, "state-stale");
});

test("without the right to operate, pages of operators are absent, and an address of one says what is missing", async ({ page, site }) => {
  await page.route(/\/v1\/access$/, (route) =>
    route.fulfill({ json: { listener: "tcp", caller: "dns:reader", classes: ["probe", "read"], replica: "a", pendingList: true } }),
  );
  await page.goto(site.url);
  await expect(page.getByRole("link", { name: "Nodes", exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: "Policy", exact: true })).toBeHidden();
  await page.goto(`${site.url}#/policy`);
  await expect(page.getByText("dns:reader may make those of probe, read")).toBeVisible();
  await expect(page.getByText("--allow-operate")).toBeVisible();
});

test("without a list of pending pods the overview says so", async ({ page, site }) => {
  await page.route(/\/v1\/access$/, (route) =>
    route.fulfill({ json: { listener: "tcp", caller: "", classes: ["probe", "read", "operate"], replica: "a", pendingList: false } }),
  );
  await page.goto(site.url);
  await expect(page.getByText("--no-pending-list")).toBeVisible();
});

test("an unknown node, an unknown page and a broken address are said", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes/no-such-node`);
  await expect(page.getByRole("main").getByRole("group", { name: "Trouble" })).toContainText("no-such-node");
  await page.goto(`${site.url}#/nowhere/%zz`);
  await expect(page.getByRole("heading", { name: "No such page" })).toBeVisible();
  await page.goto(`${site.url}#/nodes/no-such-node?pod=broken`);
  await expect(page.getByRole("region", { name: /on this node/ })).toContainText("default/broken is not in the cache");
  await page.goto(`${site.url}#/pending?cause=Nothing`);
  await expect(page.getByRole("main").getByRole("group", { name: "Trouble" })).toContainText("cause is one of");
});

test("hostile names are shown letter by letter: nothing runs, hides or reorders", async ({ page, site }) => {
  await page.goto(`${site.url}#/nodes/hostile`);
  await expect(page.getByText('<img src=x onerror="document.title=1">').first()).toBeVisible();
  await expect(page.getByText("U+202E").first()).toBeVisible();
  expect(await page.locator("main img").count()).toBe(0);
  await page.goto(`${site.url}#/pending?q=odd`);
  const name = page.getByRole("grid", { name: "Pods" }).getByRole("link", { name: /odd\/odd/ });
  await expect(name).toHaveText("odd/oddU+202EgnpU+200B");
  await picture(page, "hostile");
});

test("a report of the content security policy fails a test", async ({ page, site }) => {
  test.fail();
  await page.goto(site.url);
  await page.evaluate(
    () =>
      new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", resolve);
        new Image().src = "http://127.0.0.1:1/foreign.png";
      }),
  );
});
