// The way from all nodes to those that fit, predicate by predicate. A step is a button: it shows the nodes that are lost there.
// Start at Funnel.

import { Swatch } from "../../heatmap/swatch";
import { FITTING, type Mark } from "../../heatmap/marks";
import type { Why as Answer } from "../../api/why";
import { count } from "../../ui/format";
import { Shown, visible } from "../../ui/shown";
import { details, listed } from "./details";

/** Facts of one step that are shown. */
const SHOWN = 3;

/** The name by which links select the nodes that fit; no predicate has it, since theirs have no space. */
export const FIT = "that fit";

export interface FunnelProps {
  answer: Answer;
  marks: ReadonlyMap<string, Mark>;
  /** The predicate whose nodes are selected; empty for none. */
  selected: string;
  onSelect: (predicate: string) => void;
}

export function Funnel({ answer, marks, selected, onSelect }: FunnelProps) {
  const steps = answer.funnel.filter(({ rejected }) => rejected > 0);
  const none = answer.funnel.length - steps.length;
  const only = new Map(answer.alone.map(({ predicate, onlyReason }) => [predicate, onlyReason]));
  const select = (name: string): void => onSelect(selected === name ? "" : name);
  return (
    <>
      <div class="scroller" tabIndex={0} role="region" aria-label="Funnel">
        <table class="funnel">
          <caption class="visually-hidden">Nodes that are left after each predicate</caption>
          <thead>
            <tr>
              <th scope="col">Predicate</th>
              <th scope="col" class="number">
                Lost
              </th>
              <th scope="col" class="number">
                Left
              </th>
              <th scope="col" class="number" title="Nodes that no other predicate rejects">
                Only reason
              </th>
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">All nodes</th>
              <td />
              <td class="number">{count(answer.nodes)}</td>
              <td />
            </tr>
            {steps.map((step) => (
              <tr key={step.predicate} class={selected === step.predicate ? "selected" : undefined}>
                <th scope="row">
                  <button type="button" class="step" title={visible(step.predicate)} aria-pressed={selected === step.predicate} onClick={() => select(step.predicate)}>
                    <Swatch mark={marks.get(step.predicate) ?? FITTING} /> <Shown text={step.predicate} />
                  </button>
                  <Why text={listed(details(answer, step), SHOWN)} />
                </th>
                <td class="number">−{count(step.rejected)}</td>
                <td class="number">
                  {count(step.after)}
                  <Share part={step.after} whole={answer.nodes} />
                </td>
                <td class="number">{count(only.get(step.predicate) ?? 0)}</td>
              </tr>
            ))}
            <tr class={selected === FIT ? "selected" : undefined}>
              <th scope="row">
                <button type="button" class="step" aria-pressed={selected === FIT} onClick={() => select(FIT)}>
                  <Swatch mark={FITTING} /> Nodes that fit
                </button>
                <Why text={listed(feasible(answer), SHOWN + 1, ", ")} />
              </th>
              <td />
              <td class="number">
                <strong>{count(answer.feasibleCount)}</strong>
              </td>
              <td />
            </tr>
          </tbody>
        </table>
      </div>
      {none > 0 && <p class="muted">{none === 1 ? "One more predicate rejects" : `${none} more predicates reject`} no node here.</p>}
    </>
  );
}

/** Names of nodes that fit, and how many there are beyond those that are named. */
function feasible(answer: Answer): string[] {
  const shown = answer.feasible.slice(0, SHOWN);
  const more = answer.feasibleCount - shown.length;
  return shown.length > 0 && more > 0 ? [...shown, `${count(more)} more`] : shown;
}

/** What the predicate could read that keeps the pod away. */
function Why({ text }: { text: string }) {
  return text ? (
    <div class="why">
      <Shown text={text} />
    </div>
  ) : null;
}

function Share({ part, whole }: { part: number; whole: number }) {
  return (
    <span class="share" aria-hidden="true">
      <span style={{ width: `${whole > 0 ? (part / whole) * 100 : 0}%` }} />
    </span>
  );
}
