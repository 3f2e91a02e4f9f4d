// What `/readyz` says: nothing where all is well, else what is wrong. Start at Health.

import { session, usePolled } from "../../api/hooks";
import { Shown } from "../../ui/shown";

/** How often it is asked, in milliseconds. */
const EVERY_MS = 5_000;

interface Ready {
  isReady: boolean;
  /** What is wrong; empty where nothing is. */
  text: string;
}

/** The answer of `/readyz`: one line, which begins with `ok` where the sidecar is ready. */
export function readReady(status: number, text: string): Ready {
  const isReady = status === 200;
  return { isReady, text: isReady ? text.trim().replace(/^ok(, )?/, "") : text.trim() };
}

export function Health() {
  const { value: ready, error } = usePolled<Ready>("readyz", EVERY_MS, async (_, signal) => {
    const { status, text } = await session.client.text("readyz", signal);
    return { same: false, value: readReady(status, text), etag: null, ageMs: null };
  });
  // Where no answer comes, the header says so.
  if (!ready || error || (ready.isReady && ready.text === "")) return null;
  return (
    <section class="trouble" aria-labelledby="health">
      <h2 id="health">{ready.isReady ? "Something is wrong" : "Not ready"}</h2>
      <p><Shown text={ready.text} /></p>
    </section>
  );
}
