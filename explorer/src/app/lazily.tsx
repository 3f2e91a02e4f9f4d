// Routes whose script is loaded when one of them is opened first. Start at lazily.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Route } from "./router";

type Component = ComponentType<{ route: Route }>;

/** Makes components of a module that is not loaded yet. A script that does not come can be asked for by loading the page again. */
export function lazily<M>(load: () => Promise<M>): (pick: (module: M) => Component) => Component {
  let module: M | undefined;
  return (pick) =>
    function Lazy({ route }) {
      const [known, setKnown] = useState(() => module);
      const [failed, setFailed] = useState(false);
      useEffect(() => {
        if (known) return;
        load().then((loaded) => setKnown(() => (module = loaded)), () => setFailed(true));
      }, []);
      if (known) {
        const Loaded = pick(known);
        return <Loaded route={route} />;
      }
      if (!failed) return <p class="muted">Loading …</p>;
      return (
        <p>
          This part of the page cannot be loaded: the connection has failed, or the sidecar is of another version now.{" "}
          <button type="button" onClick={() => location.reload()}>Load the page again</button>
        </p>
      );
    };
}
