// The last reloads of the policy, the newest first: what each has changed, or why it was refused. Start at PolicyHistory.

import { SLOW_MS, usePolled } from "../../api/hooks";
import type { FailedStep, PastReload, PolicyHistory as History } from "../../api/types";
import type { Route } from "../../app/router";
import { count, microseconds } from "../../ui/format";
import { Shown } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Table } from "../../ui/table";
import { Moment } from "../../ui/time";

export function PolicyHistory(_: { route: Route }) {
  const history = usePolled<History>("v1/policy/history", SLOW_MS);
  return (
    <>
      <h1>Reloads of the policy</h1>
      <p><a href="#/policy">Active policy</a></p>
      <Document polled={history} noun="the reloads">
        {({ reloads }) => (
          <Table
            caption="Reloads, the newest first"
            empty="None since the start of the process."
            rows={reloads}
            columns={[
              { title: "When", cell: (reload) => <Moment time={reload.time} /> },
              { title: "Result", isHead: true, cell: (reload) => <Result reload={reload} /> },
              { title: "Generation", isNumber: true, cell: (reload) => reload.generation },
              { title: "Document", cell: (reload) => <Shown text={`${reload.name || "(no name)"}, ${reload.source}`} /> },
              { title: "Took", isNumber: true, cell: (reload) => `${count(reload.tookMs)} ms` },
              { title: "Steps", cell: (reload) => steps(reload) },
              { title: "Exchange", isNumber: true, cell: (reload) => (reload.swapUs === null ? "–" : microseconds(reload.swapUs)) },
              { title: "What", cell: (reload) => <What reload={reload} /> },
            ]}
          />
        )}
      </Document>
    </>
  );
}

function Result({ reload }: { reload: PastReload }) {
  const isGood = reload.result === "active";
  return (
    <>
      <span class={isGood ? "badge good" : "badge alarming"}>{reload.result}</span>
      {reload.repeats > 0 && <span class="muted"> and {count(reload.repeats)} times more</span>}
    </>
  );
}

/** Each step with its time, such as `read 3 ms, load 812 ms`; a dash where there is none. */
function steps(reload: PastReload): string {
  return reload.steps.map(({ step, tookMs }) => `${step} ${count(tookMs)} ms`).join(", ") || "–";
}

function What({ reload }: { reload: PastReload }) {
  const { scorers } = reload;
  const weighted = ({ scorer, weight }: { scorer: string; weight: number }) => `${scorer} ×${weight}`;
  const changes: [string, string[]][] = [
    ["added", reload.added],
    ["removed", reload.removed],
    ["replaced", reload.replaced],
    ["scorers added", scorers.added.map(weighted)],
    ["scorers removed", scorers.removed.map(weighted)],
    ["scorers replaced", scorers.replaced],
    ["scorers with other arguments or limits", scorers.reconfigured],
    ["weights", scorers.weights.map(({ scorer, before, after }) => `${scorer} ×${before} → ×${after}`)],
  ];
  const some = changes.filter(([, names]) => names.length > 0);
  return (
    <>
      {some.map(([word, names]) => <div key={word}>{word}: <Shown text={names.join(", ")} /></div>)}
      {some.length === 0 && reload.failures.length === 0 && <span class="muted">the same predicates and scorers</span>}
      {reload.failures.map((failure, at) => <div key={at}><Step failure={failure} /></div>)}
      {reload.unlisted > 0 && <div class="muted">{count(reload.unlisted)} more</div>}
    </>
  );
}

function Step({ failure }: { failure: FailedStep }) {
  return (
    <>
      <strong>{failure.step}</strong>
      {failure.predicate && " "}
      {failure.predicate && <Shown text={failure.predicate} />}: <Shown text={failure.reason} />
    </>
  );
}
