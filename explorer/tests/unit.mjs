// Runs the unit tests: bundles tests/unit/*.test.ts by esbuild, and gives them to Node's own runner. `npm run test:unit`.

import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = (await readdir(join(root, "tests/unit"))).filter((name) => name.endsWith(".test.ts"));
const out = await mkdtemp(join(tmpdir(), "explorer-unit-"));
await esbuild.build({
  absWorkingDir: root,
  entryPoints: files.map((name) => `tests/unit/${name}`),
  bundle: true,
  platform: "node",
  format: "esm",
  outExtension: { ".js": ".mjs" },
  jsx: "automatic",
  jsxImportSource: "preact",
  sourcemap: "inline",
  outdir: out,
  logLevel: "warning",
});
const tests = files.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...tests], { stdio: "inherit", cwd: root });
await rm(out, { recursive: true, force: true });
process.exit(status ?? 1);
