// The table of nodes as the page shows it: read again while it is open, less often where it is large. Start at useTable.

import { useState } from "preact/hooks";
import { session, usePolled, type PolledView } from "../../api/hooks";
import { PAGE_ROWS } from "../../api/rows";
import { loadTable, type NodeTable } from "./table";

/** The time between two readings of a table of one page, in milliseconds. */
const SMALL_MS = 5_000;

/** That of a larger one: ten pages of 100,000 nodes are some megabytes. */
const LARGE_MS = 60_000;

export interface TableView extends PolledView<NodeTable> {
  /** Rows that have come of those that are to come, as the last reading said. */
  progress: { rows: number; all: number } | undefined;
  /** Reads it now. */
  refresh: () => void;
}

export function useTable(columns: string[]): TableView {
  const [progress, setProgress] = useState<TableView["progress"]>();
  const wanted = columns.join(",");
  const key = `table of ${wanted}`;
  const interval = (table: NodeTable | undefined): number => (table && table.size > PAGE_ROWS ? LARGE_MS : SMALL_MS);
  const polled = usePolled<NodeTable>(key, interval, (etag, signal) =>
    loadTable(session.client, wanted, signal, etag, (rows, all) => setProgress({ rows, all })),
  );
  return { ...polled, progress, refresh: () => session.refresh(key) };
}
