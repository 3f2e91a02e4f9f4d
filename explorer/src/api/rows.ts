// Columns of the node table beside the cells of an answer: the label of every row, and the names of those that are looked at.
//
// A row is the same node as long as no node goes: the last row moves into its place. So columns are read again for an answer about other
// nodes, by the resource version of nodes that both name. Start at `labelColumn` and `NodeNames`.

import { withQuery, type Client } from "./client";
import type { CodedValues, NodeColumns } from "./types";

/** Rows of one call: the most that the sidecar gives at once. */
export const PAGE_ROWS = 10_000;

/** Rows of one page of names, which are long. */
const NAME_ROWS = 1_000;

/** The values of a label by row, of all rows, and the resource version of nodes of the last page. Throws what the calls throw. */
export async function labelColumn(client: Client, key: string, signal: AbortSignal): Promise<CodedValues & { nodesVersion: string }> {
  const column = `label:${key}`;
  const pages = await allRows(client, column, signal);
  const parts = pages.map(({ columns }) => columns[column]).filter((part) => part !== undefined) as CodedValues[];
  return { ...joinCoded(parts), nodesVersion: pages.at(-1)?.version.nodesResourceVersion ?? "" };
}

/** Columns of all rows, page by page. Throws what the calls throw. */
export async function allRows(client: Client, columns: string, signal: AbortSignal): Promise<NodeColumns[]> {
  const pages: NodeColumns[] = [];
  for (let first = 0, nodes = 1; first < nodes; first += PAGE_ROWS) {
    const page = await client.read<NodeColumns>(rowsPath(columns, first, PAGE_ROWS), signal);
    nodes = page.nodes;
    pages.push(page);
  }
  return pages;
}

/** Puts pages of a column together. Codes are of one page: the same text has another code on the next. */
export function joinCoded(parts: CodedValues[]): CodedValues {
  const known = new Map<string | null, number>();
  const [values, codes]: [(string | null)[], number[]] = [[], []];
  for (const part of parts) {
    const here = part.values.map((text) => {
      const code = known.get(text) ?? values.push(text) - 1;
      known.set(text, code);
      return code;
    });
    for (const code of part.codes) codes.push(here[code] ?? -1);
  }
  return { values, codes };
}

/** A page of names. Its version is null until it has come. */
interface NamePage {
  names: string[];
  version: string | undefined | null;
  /** The version of nodes that was wanted when it was asked for. */
  wanted: string | undefined;
  isOld: boolean;
}

/** Names of nodes by row, page by page as they are asked for. */
export class NodeNames {
  readonly #pages = new Map<number, NamePage>();
  #wanted: string | undefined;

  /** Calls `changed` after each page that has come. */
  constructor(private readonly client: Client, private readonly changed: () => void) {}

  /** The name of the node of a row; absent where it has not come yet, and then it is asked for. */
  get(row: number): string | undefined {
    const number = Math.floor(row / NAME_ROWS);
    const page = this.#pages.get(number);
    if (page === undefined || page.isOld) void this.#ask(number, page?.names ?? []);
    return this.#pages.get(number)?.names[row % NAME_ROWS];
  }

  /** Has names of other nodes than those of this version asked for again, once they are looked at; those that are known stay until then. */
  renew(version: string | undefined): void {
    this.#wanted = version;
    for (const page of this.#pages.values()) this.#check(page);
  }

  /** A page that was asked for when this version was wanted is the newest that there is, whatever its own is. */
  #check(page: NamePage): void {
    page.isOld = page.version !== null && page.version !== this.#wanted && page.wanted !== this.#wanted;
  }

  async #ask(number: number, known: string[]): Promise<void> {
    const page: NamePage = { names: known, version: null, wanted: this.#wanted, isOld: false };
    this.#pages.set(number, page);
    try {
      const { columns, version } = await this.client.read<NodeColumns>(rowsPath("name", number * NAME_ROWS, NAME_ROWS));
      page.names = columns["name"] as string[];
      page.version = version.nodesResourceVersion;
    } catch {
      // The next answer about the pod asks for it again; the page says already that there is no connection.
      this.#pages.delete(number);
      return;
    }
    this.#check(page);
    this.changed();
  }
}

/** The path of a page of the node table. */
export function rowsPath(columns: string, first: number, most: number): string {
  return withQuery("v1/nodes", { columns, rows: `${first}-${first + most - 1}` });
}
