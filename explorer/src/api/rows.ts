// Columns of the node table beside the cells of an answer: the label of every row, and the names of those that are looked at.
//
// A row is the same node as long as no node goes: the last row moves into its place. So columns are read again for an answer about other
// nodes, by the resource version of nodes that both name. Start at `labelColumn` and `NodeNames`.

import type { Client } from "./client";
import { withQuery } from "./client";
import type { CodedValues, NodeColumns } from "./types";

/** Rows of one page of a label: the most that one call gives. */
const LABEL_ROWS = 10_000;

/** Rows of one page of names, which are long. */
const NAME_ROWS = 1_000;

/** The values of a label by row, of all rows, and the resource version of nodes of the last page. Throws what the calls throw. */
export async function labelColumn(client: Client, key: string, signal: AbortSignal): Promise<CodedValues & { nodesVersion: string }> {
  const column = `label:${key}`;
  let nodesVersion = "";
  const [values, codes]: [(string | null)[], number[]] = [[], []];
  const known = new Map<string | null, number>();
  for (let first = 0, nodes = 1; first < nodes; first += LABEL_ROWS) {
    const page = await rows(client, column, first, LABEL_ROWS, signal);
    nodes = page.nodes;
    nodesVersion = page.version.nodesResourceVersion ?? "";
    const coded = page.columns[column] as CodedValues | undefined;
    if (!coded) break;
    const renumbered = coded.values.map((value) => {
      const code = known.get(value) ?? values.push(value) - 1;
      known.set(value, code);
      return code;
    });
    for (const code of coded.codes) codes.push(renumbered[code] ?? -1);
  }
  return { values, codes, nodesVersion };
}

/** Names of nodes by row, page by page as they are asked for. */
export class NodeNames {
  readonly #pages = new Map<number, { names: string[]; isOld: boolean }>();

  /** Calls `changed` after each page that has come. */
  constructor(
    private readonly client: Client,
    private readonly changed: () => void,
  ) {}

  /** The name of the node of a row; absent where it has not come yet, and then it is asked for. */
  get(row: number): string | undefined {
    const number = Math.floor(row / NAME_ROWS);
    const page = this.#pages.get(number);
    if (page === undefined || page.isOld) void this.#ask(number, page?.names ?? []);
    return this.#pages.get(number)?.names[row % NAME_ROWS];
  }

  /** Has all names asked for again once they are looked at, since nodes may have come and gone; those that are known stay until then. */
  renew(): void {
    for (const page of this.#pages.values()) page.isOld = true;
  }

  async #ask(number: number, known: string[]): Promise<void> {
    const page = { names: known, isOld: false };
    this.#pages.set(number, page);
    try {
      const { columns } = await rows(this.client, "name", number * NAME_ROWS, NAME_ROWS);
      page.names = columns["name"] as string[];
    } catch {
      // The next answer about the pod asks for it again; the page says already that there is no connection.
      this.#pages.delete(number);
      return;
    }
    this.changed();
  }
}

async function rows(client: Client, columns: string, first: number, most: number, signal?: AbortSignal): Promise<NodeColumns> {
  const path = withQuery("v1/nodes", { columns, rows: `${first}-${first + most - 1}` });
  const answer = await client.get<NodeColumns>(path, signal ? { signal } : {});
  if (answer.same) throw new Error("the sidecar has answered 304 to a question without an ETag");
  return answer.value;
}
