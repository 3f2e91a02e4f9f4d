// The flows in Debian's Chromium, which no browser download replaces. `npm run test:flows`; `make explorer-test` at the top.

import { defineConfig } from "@playwright/test";

/** Machines of CI are shared and sometimes slow: their timeouts are so many times as long. */
const factor = Number(process.env["NODESIFT_TIMEOUT_FACTOR"] ?? 1);

export default defineConfig({
  testDir: "tests/flows",
  outputDir: "test-results",
  // Two cores: a browser beside a sidecar.
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  timeout: 120_000 * factor,
  expect: { timeout: 15_000 * factor },
  reporter: [["list"]],
  use: {
    launchOptions: { executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
    viewport: { width: 1280, height: 860 },
    trace: "off",
  },
});
