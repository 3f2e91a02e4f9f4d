// What runs here, who the reader is to it, and what the page is made of. Start at About.

import { SLOW_MS, usePolled } from "../../api/hooks";
import type { About as Version, Access } from "../../api/types";
import type { Route } from "../../app/router";
import { Shown } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Facts } from "../../ui/table";

/** The address of the licences of code by others, which the build puts here. */
declare const LICENCES: string;

export function About(_: { route: Route }) {
  const version = usePolled<Version>("version", SLOW_MS);
  const access = usePolled<Access>("v1/access", SLOW_MS);
  return (
    <>
      <h1>About</h1>
      <Document polled={version} noun="the version">
        {(value) => (
          <Facts
            facts={[
              ["nodesift", `${value.version}${value.revision ? `, ${value.revision}` : ""}`],
              ["contract", <code>{value.contract}</code>],
              ["verdicts of", <Shown text={value.kubernetes.summary} />],
              ["policy", <>generation {value.policy.generation}, for <Shown text={value.policy.schedulerNames.join(", ")} /></>],
              ["predicates", <Shown text={value.policy.predicates.join(", ")} />],
            ]}
          />
        )}
      </Document>
      <h2>Access</h2>
      <Document polled={access} noun="your rights">
        {(value) => (
          <Facts
            facts={[
              ["replica", <Shown text={value.replica} />],
              ["you are", <Shown text={value.caller || "not known by name"} />],
              ["connected by", value.listener],
              ["you may call", value.classes.join(", ")],
              ["pending pods", value.pendingList ? "are listed" : "are not listed: --no-pending-list"],
            ]}
          />
        )}
      </Document>
      <h2>This page</h2>
      <p>
        It reads and changes nothing, and keeps nothing of the cluster in the browser. On a command line the same answers are{" "}
        <code>nodesift why</code>, <code>nodesift top</code> and <code>nodesift policy status</code>.
      </p>
      <p>nodesift is licensed under Apache-2.0. The page contains Preact, under <a href={LICENCES}>its licence</a>.</p>
    </>
  );
}
