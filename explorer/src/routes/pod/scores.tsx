// The nodes that a pod fits, the best first, with the score of every scorer. They are asked for beside the answer about the pod, since no
// other question has them. Start at Scores.

import { useRef, useState } from "preact/hooks";
import { usePosted } from "../../api/hooks";
import type { FilterAnswer, PodScores, ScoredNode } from "../../api/types";
import { count, counted } from "../../ui/format";
import { useWhileSeen } from "../../ui/seen";
import { Link, Shown, visible } from "../../ui/shown";
import { Answered } from "../../ui/status";
import { Table, type TableColumn } from "../../ui/table";

/** Nodes that are shown. */
const BEST = 10;

/** Nodes that fit up to which scores are asked for at once: the answer has the names of all of them. Of more they are asked for by a key. */
const AT_ONCE = 5_000;

export interface ScoresProps {
  /** The pod as a question names it. */
  pod: object;
  overlay?: object | undefined;
  /** The nodes that it fits. */
  fits: number;
  /** The snapshot of the answer beside; another one has other scores. */
  generation: string;
  /** The page about a node; absent for one that edits add. */
  hrefOf: (node: string) => string | undefined;
}

export function Scores(props: ScoresProps) {
  return props.fits > 0 ? <Asked {...props} /> : null;
}

function Asked({ pod, overlay, fits, generation, hrefOf }: ScoresProps) {
  const box = useRef<HTMLElement>(null);
  const [isWanted, setWanted] = useState(false);
  const isAsked = isWanted || fits <= AT_ONCE;
  const question = { pods: [pod], overlay, detail: "DETAIL_FEASIBLE", scores: { top: BEST, each: true } };
  // Each question is an evaluation: it is asked again for a reader who looks at its answer.
  const seen = useWhileSeen(box, generation);
  const asked = usePosted<FilterAnswer>("v1/filter", isAsked ? question : null, seen);
  return (
    <section ref={box} aria-labelledby="scores">
      <h2 id="scores">Best nodes</h2>
      {!isAsked && <button type="button" onClick={() => setWanted(true)}>Score {counted(fits, "node")}</button>}
      <Answered asked={asked} noun="scores">
        {({ pods: [of], version }) => (
          <>
            {of?.scores && <Best scores={of.scores} hrefOf={hrefOf} />}
            {seen !== generation && <p class="muted">Of generation {version.generation}.</p>}
          </>
        )}
      </Answered>
    </section>
  );
}

function Best({ scores, hrefOf }: { scores: PodScores; hrefOf: ScoresProps["hrefOf"] }) {
  const { best, ties, scorers, error, faults } = scores;
  const of: TableColumn<ScoredNode>[] = scorers.flatMap(({ scorer, weight, outcome }, at) =>
    outcome === "Scored" ? [{ title: <Scorer name={scorer} weight={weight} />, isNumber: true, cell: ({ each }) => <Score of={each[at]} /> }] : [],
  );
  const without = (outcome: string): string => scorers.filter((of) => of.outcome === outcome).map(({ scorer }) => scorer).join(", ");
  const [skipped, notAsked] = [without("Skipped"), without("NotAsked")];
  return (
    <>
      {error && <p class="trouble"><strong>The pod has no scores.</strong> <Shown text={error} /></p>}
      {faults.map(({ predicate, fault, detail }) => (
        <p key={predicate} class="trouble">
          <strong>Fault: </strong>
          <Shown text={`${predicate} failed (${fault}: ${detail})${error ? "" : "; it adds nothing"}`} />
        </p>
      ))}
      {best.length > 0 && (
        <Table
          caption="Best nodes with their scores"
          rows={best}
          rowKey={({ node }) => node}
          columns={[
            { title: "Place", isNumber: true, cell: (node) => place(scores, node) },
            {
              title: "Node",
              isHead: true,
              cell: ({ node }) => {
                const to = hrefOf(node);
                return to ? <Link to={to} text={node} /> : <Shown text={node} />;
              },
            },
            { title: "Total", isNumber: true, cell: ({ total }) => <strong>{count(Number(total))}</strong> },
            ...of,
          ]}
        />
      )}
      {ties > 0 && (
        <p>
          {counted(ties, "more node")} {ties === 1 ? "has" : "have"} the total of the last one. Equal totals are in the order of names; among them a
          core takes any.
        </p>
      )}
      {skipped && <p class="muted">With nothing to say about this pod: <Shown text={skipped} />.</p>}
      {notAsked && <p class="muted">Not asked after that: <Shown text={notAsked} />.</p>}
    </>
  );
}

/** The place of a node, which those with its total share. */
export function place({ best, ties }: PodScores, { total }: ScoredNode): string {
  const first = best.findIndex((node) => node.total === total);
  const last = best.findLastIndex((node) => node.total === total);
  return `${first + 1}${last > first || (last === best.length - 1 && ties > 0) ? ", tie" : ""}`;
}

/** The name of a scorer, which a narrow column may break before a capital, and its weight. */
function Scorer({ name, weight }: { name: string; weight: number }) {
  return (
    <>
      {visible(name)
        .split(/(?=[A-Z])/)
        .map((part, at) => [at > 0 && <wbr />, part])}{" "}
      ×{weight}
    </>
  );
}

function Score({ of }: { of: ScoredNode["each"][number] | undefined }) {
  if (!of || of.normalized === undefined) return <span class="muted">–</span>;
  return <span title={`${of.raw === undefined ? "no raw score" : `raw ${of.raw}`}, ${of.weighted} of the total`}>{of.normalized}</span>;
}
