// The one live region of the page: what a screen reader is told of changes, politely and at most every five seconds.
//
// Of several texts within that time the last is told. Start at announce.

import { useEffect, useState } from "preact/hooks";

/** The least time between two announcements, in milliseconds. */
const QUIET_MS = 5_000;

let show: ((text: string) => void) | undefined;
let toldAt = 0;
let waiting: ReturnType<typeof setTimeout> | undefined;

/** Tells those who listen to the page. */
export function announce(text: string): void {
  clearTimeout(waiting);
  const wait = Math.max(0, toldAt + QUIET_MS - Date.now());
  waiting = setTimeout(() => {
    toldAt = Date.now();
    show?.(text);
  }, wait);
}

export function LiveRegion() {
  const [text, setText] = useState("");
  useEffect(() => {
    show = setText;
    return () => {
      show = undefined;
    };
  }, []);
  return <div class="visually-hidden" aria-live="polite" role="status">{text}</div>;
}
