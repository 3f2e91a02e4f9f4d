// The active policy in some lines of the overview. Start at ActivePolicy.

import { SLOW_MS, usePolled } from "../../api/hooks";
import type { Policy } from "../../api/types";
import { counted } from "../../ui/format";
import { Link, Shown } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Facts } from "../../ui/table";
import { Moment } from "../../ui/time";

export function ActivePolicy() {
  const policy = usePolled<Policy>("v1/policy", SLOW_MS);
  return (
    <section aria-labelledby="policy">
      <h2 id="policy">Active policy</h2>
      <Document polled={policy} noun="the policy">{(value) => <Summary policy={value} />}</Document>
    </section>
  );
}

function Summary({ policy }: { policy: Policy }) {
  const open = policy.predicates.filter((predicate) => predicate.breaker.state === "open");
  return (
    <Facts
      facts={[
        ["name", <Link to="#/policy" text={policy.name || "(no name)"} />],
        ["generation", <>{policy.generation}, since <Moment time={policy.since} /></>],
        ["predicates", <a href="#/policy">{counted(policy.predicates.length, "predicate")}</a>],
        ["verdicts of", <Shown text={policy.kubernetes.summary} />],
        ["in quarantine", open.length === 0 ? "none" : <Shown text={open.map((predicate) => predicate.name).join(", ")} />],
        [
          "last refusal",
          policy.lastFailure ? (
            <Link to="#/policy" text={`at step ${policy.lastFailure.step}${policy.lastFailure.predicate ? ` of ${policy.lastFailure.predicate}` : ""}`} />
          ) : (
            "none"
          ),
        ],
      ]}
    />
  );
}
