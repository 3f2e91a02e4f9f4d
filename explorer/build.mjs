// Builds the page into dist/: scripts, one style sheet and one icon with hashed names, and the index.html that names them. The script of
// the first load has the overview and the pages of pending pods; routes that fewer people open are scripts of their own.
//
// Prints the size of each file as it is sent, and fails where the page has outgrown its budget. `npm run build`; `npm run dev` builds
// again after every save. Start at build().

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
export const dist = join(here, "dist");

/** The most bytes of each kind of file, gzipped: a first load over a port-forward stays below half a second. */
const BUDGET = { js: 40_000, css: 8_000, html: 2_000, svg: 1_000, txt: 2_000 };

/** Builds everything, and returns the gzipped size of each file by its name. */
export async function build() {
  await rm(dist, { recursive: true, force: true });
  await mkdir(join(dist, "assets"), { recursive: true });
  // The only code of others in the page; its licence wants to be where the code is.
  const licences = await hashed("licences", "txt", await readFile(join(here, "node_modules/preact/LICENSE")));
  const icon = await hashed("icon", "svg", await readFile(join(here, "src/icon.svg")));
  const result = await esbuild.build({
    absWorkingDir: here,
    entryPoints: { page: "src/main.tsx", style: "src/style/index.css" },
    bundle: true,
    minify: true,
    format: "esm",
    splitting: true,
    chunkNames: "[name]-[hash]",
    target: ["es2022", "chrome111", "firefox115", "safari16"],
    jsx: "automatic",
    jsxImportSource: "preact",
    entryNames: "[name]-[hash]",
    outdir: join(dist, "assets"),
    legalComments: "none",
    define: { LICENCES: JSON.stringify(`assets/${licences}`) },
    metafile: true,
    logLevel: "warning",
  });
  const names = [...Object.keys(result.metafile.outputs).map((path) => path.split("/").at(-1)), icon, licences];
  const name = (start) => `assets/${names.find((name) => name.startsWith(start))}`;
  const template = await readFile(join(here, "src/index.html"), "utf8");
  const first = firstLoad(result.metafile, name("page-"));
  const page = template.replace("PAGE", name("page-")).replace("SHARED", first[1] ?? name("page-")).replace("STYLE", name("style-")).replace("ICON", name("icon-"));
  await writeFile(join(dist, "index.html"), page);
  const sizes = {};
  for (const file of ["index.html", ...names.map((name) => `assets/${name}`)]) {
    sizes[file] = gzipSync(await readFile(join(dist, file)), { level: 9 }).length;
  }
  sizes["scripts of the first load"] = first.reduce((sum, file) => sum + sizes[file], 0);
  return sizes;
}

/** Writes a file of dist/assets, and returns its name with a part of its hash. */
async function hashed(stem, ending, content) {
  const name = `${stem}-${createHash("sha256").update(content).digest("hex").slice(0, 8)}.${ending}`;
  await writeFile(join(dist, "assets", name), content);
  return name;
}

/** The script of the page and those that it imports before it runs. */
function firstLoad({ outputs }, page) {
  const path = Object.keys(outputs).find((path) => path.endsWith(page));
  const imported = outputs[path].imports.filter(({ kind }) => kind === "import-statement");
  return [page, ...imported.map(({ path }) => `assets/${path.split("/").at(-1)}`)];
}

/** The files, and the scripts of the first load, that are larger than their budget, as sentences. */
export function overruns(sizes) {
  return Object.entries(sizes).flatMap(([file, size]) => {
    const most = BUDGET[file.split(".").at(-1)] ?? BUDGET.js;
    return size > most ? [`${file}: ${size} bytes gzipped, ${most} at most`] : [];
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const sizes = await build();
  for (const [file, size] of Object.entries(sizes)) console.log(`${String(size).padStart(7)} B gzipped  ${file}`);
  const wrong = overruns(sizes);
  wrong.forEach((line) => console.error(line));
  // Whoever asks next whether there is a page is not to find this one.
  if (wrong.length > 0) await rm(join(dist, "index.html"));
  process.exit(wrong.length > 0 ? 1 : 0);
}
