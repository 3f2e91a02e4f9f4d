// The nodes by columns, as the page has read them: pages of the API put together, rows that are selected, sorted or summed up by a label.
//
// Start at loadTable.

import type { Answer, Client } from "../../api/client";
import { ApiError } from "../../api/errors";
import { joinCoded, PAGE_ROWS, rowsPath } from "../../api/rows";
import type { CodedValues, NodeColumns, Version } from "../../api/types";
import { meets, type Condition, type RowFacts } from "./where";

/** Columns of one call: the most that the sidecar gives at once. */
export const MOST_COLUMNS = 32;

/** How often a table is begun anew because another process has answered: with more, the page reaches several at once. */
const MOST_RESTARTS = 3;

/** All nodes at about one moment: pages that were read while the cluster changed may be some generations apart. */
export class NodeTable implements RowFacts {
  private byName: number[] | undefined;

  constructor(
    readonly version: Version,
    readonly epoch: string,
    /** Number of rows. */
    readonly size: number,
    private readonly names: string[],
    private readonly numbers: Map<string, Float64Array>,
    private readonly coded: Map<string, CodedValues>,
  ) {}

  name(row: number): string {
    return this.names[row] ?? "";
  }

  isCordoned(row: number): boolean {
    return this.numbers.get("unschedulable")?.[row] === 1;
  }

  taints(row: number): string {
    return this.code("taints", row) ?? "";
  }

  label(key: string, row: number): string | null {
    return this.code(`label:${key}`, row);
  }

  amount(column: string, row: number): number {
    return this.numbers.get(column)?.[row] ?? 0;
  }

  private code(column: string, row: number): string | null {
    const coded = this.coded.get(column);
    return coded?.values[coded.codes[row] ?? -1] ?? null;
  }

  /** Rows that meet all conditions, by a key where there is one; rows with the same key, and all without one, by name. */
  select(conditions: Condition[], key?: (row: number) => number, isDescending = false): number[] {
    const rows = this.sorted().filter((row) => conditions.every((condition) => meets(condition, this, row)));
    if (!key) return isDescending ? rows.reverse() : rows;
    const keys = new Float64Array(this.size);
    for (const row of rows) keys[row] = key(row);
    const sign = isDescending ? -1 : 1;
    // The sort is stable, so that the order by name stays.
    return rows.sort((a, b) => sign * ((keys[a] ?? 0) - (keys[b] ?? 0)));
  }

  /** All rows by name, sorted once. */
  private sorted(): number[] {
    const { names } = this;
    this.byName ??= names.map((_, row) => row).sort((a, b) => ((names[a] ?? "") < (names[b] ?? "") ? -1 : 1));
    return this.byName;
  }
}

/**
 * Reads all pages of the columns, or the word that the table of this version still holds, by the first page alone, since a version is that of
 * all rows. A table whose pages are of several versions has none. `progress` is called with the rows that are there and those to come. Throws
 * ApiError.
 */
export async function loadTable(
  client: Client,
  columns: string,
  signal: AbortSignal,
  version: string | null = null,
  progress: (rows: number, all: number) => void = () => {},
): Promise<Answer<NodeTable>> {
  const pages: NodeColumns[] = [];
  const etags = new Set<string | null>();
  let restarts = 0;
  for (let rows = 0, all = 1; rows < all; ) {
    const answer = await client.get<NodeColumns>(rowsPath(columns, rows, PAGE_ROWS), { signal, etag: rows === 0 ? version : null });
    if (answer.same) return answer;
    if (pages[0] && pages[0].epoch !== answer.value.epoch) {
      // Another process: its rows are other nodes, so that all are read again.
      if (restarts === MOST_RESTARTS) throw new ApiError("failed", 200, "several processes answer in turn");
      restarts += 1;
      pages.length = 0;
      etags.clear();
      [rows, all] = [0, 1];
      continue;
    }
    pages.push(answer.value);
    etags.add(answer.etag);
    rows = answer.value.first + answer.value.rows;
    all = answer.value.nodes;
    if (answer.value.rows === 0) break;
    progress(rows, all);
  }
  const [etag = null] = etags;
  return { same: false, value: join(pages), etag: etags.size === 1 ? etag : null, ageMs: null };
}

/** Puts pages together, in the order of their rows. */
export function join(pages: NodeColumns[]): NodeTable {
  const numbers = new Map<string, Float64Array>();
  const coded = new Map<string, CodedValues>();
  const size = pages.reduce((sum, page) => sum + page.rows, 0);
  const names: string[] = [];
  for (const column of Object.keys(pages[0]?.columns ?? {})) {
    const parts = pages.map((page) => page.columns[column] ?? []);
    if (column === "name") for (const part of parts) for (const name of part as string[]) names.push(name);
    else if (Array.isArray(parts[0])) numbers.set(column, joinNumbers(parts as number[][], size));
    else coded.set(column, joinCoded(parts as CodedValues[]));
  }
  const last = pages[pages.length - 1];
  return new NodeTable(last?.version ?? { generation: "0", policyGeneration: "0" }, last?.epoch ?? "", size, names, numbers, coded);
}

function joinNumbers(parts: number[][], size: number): Float64Array {
  const joined = new Float64Array(size);
  let row = 0;
  for (const part of parts) {
    joined.set(part, row);
    row += part.length;
  }
  return joined;
}

/** Nodes with one value of a label. */
export interface NodeGroup {
  /** Null: nodes without the label. */
  value: string | null;
  nodes: number;
  cordoned: number;
  /** By column: the sum over the nodes, and the largest amount on one of them. */
  sums: Record<string, number>;
  largest: Record<string, number>;
}

/** The selected rows by the values of a label, the largest group first. */
export function groupRows(table: NodeTable, rows: number[], key: string, columns: string[]): NodeGroup[] {
  const groups = new Map<string | null, NodeGroup>();
  for (const row of rows) {
    const value = table.label(key, row);
    let group = groups.get(value);
    if (!group) {
      const zero = Object.fromEntries(columns.map((column) => [column, 0]));
      group = { value, nodes: 0, cordoned: 0, sums: { ...zero }, largest: { ...zero } };
      groups.set(value, group);
    }
    group.nodes += 1;
    if (table.isCordoned(row)) group.cordoned += 1;
    for (const column of columns) {
      const amount = table.amount(column, row);
      group.sums[column] = (group.sums[column] ?? 0) + amount;
      group.largest[column] = Math.max(group.largest[column] ?? 0, amount);
    }
  }
  return [...groups.values()].sort((a, b) => b.nodes - a.nodes || (String(a.value) < String(b.value) ? -1 : 1));
}
