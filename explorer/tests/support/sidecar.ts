// A sidecar of its own for a test: the real program on a cluster file, on free ports, with a folder that is removed with it.
//
// The program is $NODESIFT_BIN, else target/debug/nodesift of this repository. Start at startSidecar.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The longest wait for a sidecar to be ready, in milliseconds: a debug build compiles its predicates for some seconds. */
const READY_MS = 60_000;

export interface Sidecar {
  url: string;
  /** The address of its own listener for the page; undefined where the program has none. */
  explorer: string | undefined;
  /** Where it runs: its policy file is `policy.yaml` there. */
  folder: string;
  stop(): Promise<void>;
  /** Ends the process, and leaves its folder. */
  halt(): Promise<void>;
  /** Starts it again on the same port, with another cluster where one is given. */
  startAgain(cluster?: object): Promise<void>;
  /** Ends the process and starts it again. */
  restart(cluster?: object): Promise<void>;
}

export interface SidecarOptions {
  /** The cluster in a file; none where it is that of a kubeconfig. */
  cluster?: object;
  /** A kubeconfig as text, whose API server is watched instead. */
  kubeconfig?: string;
  /** The policy document; the default policy without. */
  policy?: string;
  arguments?: string[];
}

export function program(): string {
  const path = process.env["NODESIFT_BIN"] ?? join(process.env["CARGO_TARGET_DIR"] ?? join(root, "target"), "debug/nodesift");
  if (!existsSync(path)) throw new Error(`there is no sidecar at ${path}: build it with make build, or name it in NODESIFT_BIN`);
  return path;
}

let helpHasExplorer: boolean | undefined;

/** Whether the program serves the page itself. */
function hasExplorer(): boolean {
  helpHasExplorer ??= spawnSync(program(), ["serve", "--help"], { encoding: "utf8" }).stdout.includes("--explorer");
  return helpHasExplorer;
}

export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const folder = await mkdtemp(join(tmpdir(), "explorer-sidecar-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const cluster = join(folder, "cluster.json");
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(cluster, JSON.stringify(options.cluster ?? {}));
  if (options.kubeconfig) await writeFile(kubeconfig, options.kubeconfig);
  const from = options.kubeconfig ? ["--kubeconfig", kubeconfig] : ["--cluster", cluster];
  const policy = options.policy === undefined ? [] : ["--policy", join(folder, "policy.yaml")];
  if (options.policy !== undefined) await writeFile(join(folder, "policy.yaml"), options.policy);
  const explorer = hasExplorer() ? `127.0.0.1:${await freePort()}` : undefined;
  const start = async () => {
    const socket = join(folder, "s");
    const listeners = ["--listen", `127.0.0.1:${port}`, "--socket", socket, ...(explorer ? ["--explorer", explorer] : [])];
    const all = ["serve", ...from, ...listeners, ...policy, ...(options.arguments ?? [])];
    return ready(spawn(program(), all, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] }), url);
  };
  let child = await start();
  const startAgain = async (other?: object) => {
    if (other) await writeFile(cluster, JSON.stringify(other));
    child = await start();
  };
  return {
    url,
    explorer: explorer && `http://${explorer}/`,
    folder,
    async stop() {
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
    halt: () => end(child),
    startAgain,
    async restart(other) {
      await end(child);
      await startAgain(other);
    },
  };
}

/** Waits until the sidecar is ready, or ends with what it has said. */
async function ready(child: ChildProcess, url: string): Promise<ChildProcess> {
  let said = "";
  let ended = false;
  const hear = (chunk: Buffer) => (said = (said + chunk.toString()).slice(-8_000));
  child.stdout?.on("data", hear);
  child.stderr?.on("data", hear);
  child.on("exit", () => (ended = true));
  const end = Date.now() + READY_MS;
  while (Date.now() < end && !ended) {
    // The list of pending pods comes last, and its first pods before all of them are evaluated.
    const answer = await fetch(`${url}/v1/pending?limit=0`).catch(() => undefined);
    if (answer?.status === 409) return child;
    if (answer?.status === 200) {
      const { list } = (await answer.json()) as { list: { unlisted: number } };
      if (list.unlisted === 0) return child;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill("SIGKILL");
  throw new Error(`the sidecar is not ready: ${said}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  // Pages that are open keep connections; a test does not wait for their drain.
  const force = setTimeout(() => child.kill("SIGKILL"), 3_000);
  await gone;
  clearTimeout(force);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
