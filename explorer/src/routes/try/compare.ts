// Two answers compared: as it is, and with edits. Start at `compare`.

import type { Why } from "../../api/why";
import { decode, FITS } from "../../heatmap/cells";

export interface Change {
  predicate: string;
  /** The nodes that it rejects, whatever the others say. */
  before: number;
  after: number;
}

export interface Comparison {
  /** Predicates that reject some node in either answer, in policy order. */
  changes: Change[];
  /** Rows of nodes that fit only with the edits. */
  gained: number[];
  /** Rows of nodes that fit only without them. */
  lost: number[];
  /** The nodes that the edits add, and how many of them fit. */
  added: { nodes: number; fit: number };
  /** Whether both answers are of one snapshot and one policy. */
  isSameState: boolean;
}

export function compare(before: Why, after: Why): Comparison {
  const [was, is] = [decode(before.cells ?? ""), decode(after.cells ?? "")];
  const [gained, lost]: [number[], number[]] = [[], []];
  const shared = Math.min(was.length, is.length);
  for (let row = 0; row < shared; row += 1) {
    if (was[row] === is[row]) continue;
    if (is[row] === FITS) gained.push(row);
    else if (was[row] === FITS) lost.push(row);
  }
  // An overlay adds nodes behind those that there are.
  const fresh = is.subarray(shared);
  return {
    changes: changes(before, after),
    gained,
    lost,
    added: { nodes: fresh.length, fit: fresh.filter((cell) => cell === FITS).length },
    isSameState:
      before.version.generation === after.version.generation && before.version.policyGeneration === after.version.policyGeneration,
  };
}

function changes(before: Why, after: Why): Change[] {
  const rejects = new Map(before.alone.map(({ predicate, rejects }) => [predicate, rejects]));
  const both = after.alone.map(({ predicate, rejects: now }) => ({ predicate, before: rejects.get(predicate) ?? 0, after: now }));
  return both.filter((change) => change.before > 0 || change.after > 0);
}

/** The index of the edit that an error of the sidecar is about, by the field that the error begins with; absent where that is of none. */
export function blamed(message: string, edits: readonly string[]): number | undefined {
  const last = (...starts: string[]): number => edits.findLastIndex((edit) => starts.some((start) => edit.startsWith(start)));
  const removed = /^overlay\.removed_pods\[(\d+)\]/.exec(message)?.[1];
  const resource = /^pod\.object\.spec\.containers\[0\]\.resources\.requests\.(\S+?): /.exec(message)?.[1];
  let index = -1;
  if (removed !== undefined) index = edits.flatMap((edit, at) => (edit.startsWith("without=") ? [at] : []))[Number(removed)] ?? -1;
  else if (resource !== undefined) index = last(`${resource}=`);
  else if (message.startsWith("pod.object.spec.tolerations")) index = last("tolerate=");
  else if (message.startsWith("overlay.nodes")) index = last("node+=", "uncordon=", "untaint=");
  return index < 0 ? undefined : index;
}
