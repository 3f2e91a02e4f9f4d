// The table of nodes as the page shows it: read again while it is open, less often where it is large. Start at useTable.

import { useEffect, useState } from "preact/hooks";
import { isAbort } from "../../api/client";
import { ApiError } from "../../api/errors";
import { session } from "../../api/hooks";
import { waitMs } from "../../api/poller";
import type { Loaded, NodeTable } from "./table";
import { loadTable, PAGE_ROWS } from "./table";

/** The time between two readings of a table of one page, in milliseconds. */
const SMALL_MS = 5_000;

/** That of a larger one: ten pages of 100,000 nodes are some megabytes. */
const LARGE_MS = 60_000;

export interface TableState {
  table: NodeTable | undefined;
  error: ApiError | undefined;
  /** When it was read, and when it is read again, in milliseconds. */
  at: number | undefined;
  nextAt: number | undefined;
  /** Rows that have come of those that are to come, while it is read. */
  progress: { rows: number; all: number } | undefined;
  /** Reads it now. */
  refresh: () => void;
}

type Known = Omit<TableState, "refresh">;

const NOTHING: Known = { table: undefined, error: undefined, at: undefined, nextAt: undefined, progress: undefined };

export function useTable(columns: string[]): TableState {
  const [state, setState] = useState<Known>(NOTHING);
  const [turn, setTurn] = useState(0);
  const wanted = columns.join(",");
  useEffect(() => {
    const call = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let known: Loaded | undefined;
    const read = async () => {
      if (document.visibilityState === "hidden") {
        timer = setTimeout(() => void read(), SMALL_MS);
        return;
      }
      setState((state) => ({ ...state, nextAt: undefined }));
      let interval = SMALL_MS;
      let error: ApiError | undefined;
      try {
        const progress = (rows: number, all: number) => setState((state) => ({ ...state, progress: { rows, all } }));
        known = await loadTable(session.client, wanted.split(","), call.signal, known, progress);
        const { table } = known;
        session.saw(table.epoch || undefined);
        failures = 0;
        if (table.size > PAGE_ROWS) interval = LARGE_MS;
        setState({ table, error, at: Date.now(), nextAt: undefined, progress: undefined });
      } catch (thrown) {
        if (call.signal.aborted || isAbort(thrown)) return;
        failures += 1;
        error = thrown instanceof ApiError ? thrown : new ApiError("failed", 0, String(thrown));
      }
      if (call.signal.aborted) return;
      const wait = waitMs(interval, failures, error);
      timer = setTimeout(() => void read(), wait);
      setState((state) => ({ ...state, error, nextAt: Date.now() + wait, progress: undefined }));
    };
    void read();
    return () => {
      call.abort();
      clearTimeout(timer);
    };
  }, [wanted, turn]);
  useEffect(
    () =>
      session.onRestart(() => {
        // Rows of the process before are other nodes.
        setState(NOTHING);
        setTurn((turn) => turn + 1);
      }),
    [],
  );
  return { ...state, refresh: () => setTurn((turn) => turn + 1) };
}
