// What every flow has: a sidecar on the small cluster, the page before it, and a reader that fails the test on anything amiss.
//
// Amiss are reports of the content security policy, errors of scripts, and a document title that hostile text has changed.
// Start at test.

import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type BrowserContext, expect, type Page, test as base } from "@playwright/test";
// @ts-expect-error: plain JavaScript, as `npm run dev` runs it
import { serve } from "../../serve.mjs";
// @ts-expect-error: plain JavaScript, as it writes cluster files by itself
import { cluster } from "./cluster.mjs";
import { type Sidecar, startSidecar } from "./sidecar";

export { expect } from "@playwright/test";

export interface Site {
  /** The address of the page, with a slash at its end. */
  url: string;
  sidecar: Sidecar;
}

interface TestFixtures {
  /** Makes a page of a new browser that is watched like the first one. */
  watch: (page: Page) => Promise<Page>;
}

interface WorkerFixtures {
  site: Site;
}

/**
 * A page before a sidecar: the sidecar's own listener, whose program must have the page that was built last; or, with
 * EXPLORER_FROM_DIST=1, the server of `npm run dev`, which sends the same headers and whose calls are those of either listener.
 */
export async function openSite(sidecar: Sidecar): Promise<{ site: Site; close: () => Promise<void> }> {
  if (sidecar.explorer && (await isBuiltIn(sidecar.explorer))) {
    return { site: { url: sidecar.explorer, sidecar }, close: () => sidecar.stop() };
  }
  if (process.env["EXPLORER_FROM_DIST"] !== "1") {
    await sidecar.stop();
    throw new Error("the program has not the page of dist/: make explorer && make build, or EXPLORER_FROM_DIST=1 for the server of npm run dev");
  }
  const server: Server = await serve({ port: 0, sidecar: sidecar.explorer ?? sidecar.url });
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await sidecar.stop();
  };
  return { site: { url: `http://127.0.0.1:${port}/`, sidecar }, close };
}

/** Whether the program serves the page of dist/: its index.html names all other files by their content. */
async function isBuiltIn(url: string): Promise<boolean> {
  const built = await readFile(new URL("../../dist/index.html", import.meta.url), "utf8");
  return (await (await fetch(url)).text()) === built;
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  site: [
    async ({}, use) => {
      const { site, close } = await openSite(await startSidecar({ cluster: cluster() }));
      await use(site);
      await close();
    },
    { scope: "worker" },
  ],
  watch: async ({}, use) => {
    const amiss: string[] = [];
    await use(async (page) => {
      page.on("pageerror", (error) => amiss.push(`error: ${error.message}`));
      page.on("console", (message) => {
        // A call that fails is a line of the browser's own; the states of such calls have tests of their own.
        if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) amiss.push(`console: ${message.text()}`);
      });
      await page.exposeFunction("reportViolation", (text: string) => amiss.push(`policy: ${text}`));
      await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (event) => {
          const { reportViolation } = window as unknown as { reportViolation: (text: string) => void };
          reportViolation(`${event.violatedDirective} ${event.blockedURI}`);
        });
      });
      return page;
    });
    expect(amiss).toEqual([]);
  },
  page: async ({ page, watch }, use) => {
    await use(await watch(page));
    if (!page.isClosed()) expect(await page.title()).not.toBe("1");
  },
});

/** Answers calls of the API in the place of the sidecar, in its own form of a refusal. */
export async function refuse(context: BrowserContext | Page, path: RegExp, status: number, message: string): Promise<void> {
  await context.route(path, (route) =>
    route.fulfill({
      status,
      contentType: "application/json",
      headers: status === 429 || status === 503 ? { "retry-after": "1" } : {},
      body: JSON.stringify({ error: { code: "SCRIPTED", message } }),
    }),
  );
}

/** Keeps a picture of the whole page as an artefact that people look at. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync("test-results/pictures", { recursive: true });
  await page.screenshot({ path: `test-results/pictures/${name}.png`, fullPage: true });
}

/** The answer of the sidecar itself, to compare the page with. */
export async function ask<T>(site: Site, path: string): Promise<T> {
  const answer = await fetch(`${site.sidecar.url}/${path}`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as T;
}
