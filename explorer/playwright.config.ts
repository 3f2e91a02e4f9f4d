// The flows in Debian's Chromium, which no browser download replaces. `npm run test:flows`; `make explorer-test` at the top.

import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests/flows",
  outputDir: "test-results",
  // Two cores: a browser beside a sidecar.
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: [["list"]],
  use: {
    launchOptions: { executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
    viewport: { width: 1280, height: 860 },
    trace: "off",
  },
});
