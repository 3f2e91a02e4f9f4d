// The way from all nodes to those that fit, predicate by predicate. A step is a button: it shows the nodes that are lost there.
// Start at Funnel.

import { Swatch } from "../../heatmap/swatch";
import { FITTING, type Mark } from "../../heatmap/marks";
import type { Why } from "../../api/why";
import { count } from "../../ui/format";
import { Shown, visible } from "../../ui/shown";
import { Table } from "../../ui/table";
import { details, listed } from "./details";

/** Facts of one step that are shown. */
const SHOWN = 3;

/** The name by which links select the nodes that fit; no predicate has it, since theirs have no space. */
export const FIT = "that fit";

export interface FunnelProps {
  answer: Why;
  marks: ReadonlyMap<string, Mark>;
  /** The predicate whose nodes are selected; empty for none. */
  selected: string;
  onSelect: (predicate: string) => void;
}

/** A row: a step, or the nodes before and after all of them. */
interface Row {
  title: string;
  /** What it selects; nothing at the first row. */
  selects?: string;
  mark?: Mark;
  why?: string;
  lost?: number;
  left: number;
  only?: number;
}

export function Funnel({ answer, marks, selected, onSelect }: FunnelProps) {
  const steps = answer.funnel.filter(({ rejected }) => rejected > 0);
  const none = answer.funnel.length - steps.length;
  const only = new Map(answer.alone.map(({ predicate, onlyReason }) => [predicate, onlyReason]));
  const rows: Row[] = [
    { title: "All nodes", left: answer.nodes },
    ...steps.map((step) => ({
      title: step.predicate,
      selects: step.predicate,
      mark: marks.get(step.predicate) ?? FITTING,
      why: listed(details(answer, step), SHOWN),
      lost: step.rejected,
      left: step.after,
      only: only.get(step.predicate) ?? 0,
    })),
    { title: "Nodes that fit", selects: FIT, mark: FITTING, why: listed(feasible(answer), SHOWN + 1, ", "), left: answer.feasibleCount },
  ];
  const select = (name: string): void => onSelect(selected === name ? "" : name);
  return (
    <>
      <Table
        class="funnel"
        caption="Nodes that are left after each predicate"
        rows={rows}
        rowKey={({ title }) => title}
        isSelected={({ selects }) => selects === selected}
        columns={[
          { title: "Predicate", isHead: true, cell: (row) => <Step row={row} isSelected={row.selects === selected} onSelect={select} /> },
          { title: "Lost", isNumber: true, cell: ({ lost }) => lost !== undefined && `−${count(lost)}` },
          { title: "Left", isNumber: true, cell: (row) => <Left row={row} all={answer.nodes} /> },
          { title: "Only reason", hint: "Nodes that no other predicate rejects", isNumber: true, cell: (row) => row.only !== undefined && count(row.only) },
        ]}
      />
      {none > 0 && <p class="muted">{none === 1 ? "One more predicate rejects" : `${none} more predicates reject`} no node here.</p>}
    </>
  );
}

/** The name of a row as a button where it selects nodes, with what the predicate could read that keeps the pod away. */
function Step({ row, isSelected, onSelect }: { row: Row; isSelected: boolean; onSelect: (name: string) => void }) {
  const { title, selects, mark, why } = row;
  if (selects === undefined || mark === undefined) return <>{title}</>;
  return (
    <>
      <button type="button" class="step" title={visible(title)} aria-pressed={isSelected} onClick={() => onSelect(selects)}>
        <Swatch mark={mark} /> <Shown text={title} />
      </button>
      {why && <div class="why"><Shown text={why} /></div>}
    </>
  );
}

function Left({ row, all }: { row: Row; all: number }) {
  if (row.selects === FIT) return <strong>{count(row.left)}</strong>;
  return (
    <>
      {count(row.left)}
      {row.lost !== undefined && (
        <span class="share" aria-hidden="true"><span style={{ width: `${all > 0 ? (row.left / all) * 100 : 0}%` }} /></span>
      )}
    </>
  );
}

/** Names of nodes that fit, and how many there are beyond those that are named. */
function feasible(answer: Why): string[] {
  const shown = answer.feasible.slice(0, SHOWN);
  const more = answer.feasibleCount - shown.length;
  return shown.length > 0 && more > 0 ? [...shown, `${count(more)} more`] : shown;
}
