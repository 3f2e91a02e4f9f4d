// The active policy: where it is from, its predicates with what they cost and whether they are called, and what was refused last.
//
// Start at Policy.

import { SLOW_MS, usePolled } from "../../api/hooks";
import type { Policy as PolicyAnswer, PolicyFailure } from "../../api/types";
import type { Route } from "../../app/router";
import { CopyMenu } from "../../ui/copy_menu";
import { count } from "../../ui/format";
import { Shown } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Facts, Table } from "../../ui/table";
import { Moment } from "../../ui/time";
import { Predicates, Scorers } from "./predicates";

export function Policy(_: { route: Route }) {
  const policy = usePolled<PolicyAnswer>("v1/policy", SLOW_MS);
  return (
    <>
      <div class="title-row">
        <h1>Policy</h1>
        {policy.value && (
          <CopyMenu
            items={[
              { label: "Link", text: () => location.href },
              { label: "Command", text: () => "nodesift policy status" },
              { label: "Document", text: () => policy.value?.document ?? "" },
              { label: "JSON", text: () => JSON.stringify(policy.value, null, 2) },
            ]}
          />
        )}
      </div>
      <Document polled={policy} noun="the policy">{(value) => <Status policy={value} />}</Document>
    </>
  );
}

function Status({ policy }: { policy: PolicyAnswer }) {
  return (
    <>
      {policy.lastFailure && <Refused failure={policy.lastFailure} />}
      {policy.statusTrouble && (
        <p class="trouble">The status of the policy’s object cannot be written: <Shown text={policy.statusTrouble} /></p>
      )}
      {policy.warnings.length > 0 && (
        <section class="trouble" aria-labelledby="warnings">
          <h2 id="warnings">Warnings</h2>
          <ul>{policy.warnings.map((warning) => <li key={warning}><Shown text={warning} /></li>)}</ul>
        </section>
      )}
      <Facts
        facts={[
          ["name", <Shown text={policy.name || "(no name)"} />],
          ["generation", <>{policy.generation}, since <Moment time={policy.since} /></>],
          ["from", <><Shown text={policy.source} />{policy.remembered && " — remembered: the one that is named is broken"}</>],
          ["verdicts of", <Shown text={policy.kubernetes.warning ?? policy.kubernetes.summary} />],
          ["schedulers", <Shown text={policy.schedulerNames.join(", ")} />],
          ["annotations", <Shown text={policy.annotationKeys.join(", ") || "none"} />],
          ["ConfigMaps", <Shown text={policy.configMaps.join(", ") || "none"} />],
          ["quarantine", policy.rollbackOnQuarantine ? "brings the policy before back" : "leaves the policy active"],
          ["last reload", <LastReload policy={policy} />],
        ]}
      />
      <h2>Predicates</h2>
      <Predicates predicates={policy.predicates} />
      <h2>Scorers</h2>
      <Scorers scorers={policy.scorers} />
      {policy.accounting && (
        <>
          <h2>Accounting component</h2>
          <Facts
            facts={[
              ["digest", <code>{policy.accounting.digest}</code>],
              ["contract", policy.accounting.contract],
              ["imports", <Shown text={policy.accounting.imports.join(", ")} />],
              ["annotations", <Shown text={policy.accounting.annotations.join(", ") || "none"} />],
              ["sums", <Shown text={policy.accounting.sums.join(", ") || "none"} />],
              ["calls", count(policy.accounting.calls)],
              ["on a fault", policy.accounting.onError],
              ["breaker", policy.accounting.breaker.state],
            ]}
          />
        </>
      )}
      <h2>Document</h2>
      <pre tabIndex={0} aria-label="The document of the policy"><Shown text={policy.document} /></pre>
    </>
  );
}

function LastReload({ policy }: { policy: PolicyAnswer }) {
  const history = <a href="#/policy/history">all reloads</a>;
  if (!policy.lastReload) return <>none since the start; {history}</>;
  const { result, time, tookMs } = policy.lastReload;
  return (
    <>
      {result} at <Moment time={time} />, in {count(tookMs)} ms; {history}
    </>
  );
}

function Refused({ failure }: { failure: PolicyFailure }) {
  return (
    <section class="trouble" aria-labelledby="refused">
      <h2 id="refused">The last document was refused</h2>
      <p><Moment time={failure.time} />, from <Shown text={failure.source} />. The policy below stays active.</p>
      <Table
        caption="Why the document was refused"
        rows={failure.failures}
        columns={[
          { title: "Step", isHead: true, cell: ({ step }) => step },
          { title: "Predicate", cell: ({ predicate }) => (predicate ? <Shown text={predicate} /> : "") },
          { title: "Reason", cell: ({ reason }) => <Shown text={reason} /> },
        ]}
      />
      {failure.unlisted > 0 && <p class="muted">{count(failure.unlisted)} more are not listed.</p>}
    </section>
  );
}
