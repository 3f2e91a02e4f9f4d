// What `/readyz` says: nothing where all is well, else what is wrong. Start at Health.

import { useEffect, useState } from "preact/hooks";
import { session } from "../../api/hooks";
import { ApiError } from "../../api/errors";
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
  const [ready, setReady] = useState<Ready | undefined>();
  useEffect(() => {
    const call = new AbortController();
    const ask = async () => {
      if (document.visibilityState === "hidden") return;
      try {
        const { status, text } = await session.client.text("readyz", call.signal);
        setReady(readReady(status, text));
      } catch (error) {
        // The header says that no answer comes.
        if (error instanceof ApiError) setReady(undefined);
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), EVERY_MS);
    return () => {
      clearInterval(timer);
      call.abort();
    };
  }, []);
  if (!ready || (ready.isReady && ready.text === "")) return null;
  return (
    <section class="trouble" aria-labelledby="health">
      <h2 id="health">{ready.isReady ? "Something is wrong" : "Not ready"}</h2>
      <p>
        <Shown text={ready.text} />
      </p>
    </section>
  );
}
