// What is on the screen, for parts of the page whose questions take the sidecar an evaluation. Start at useWhileSeen.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** How near to the screen an element counts as seen, in pixels: a reader who scrolls finds it renewed. */
const NEAR = 200;

/** The newest state that there was while the element was on the screen; at first, the one that it came with. */
export function useWhileSeen<T>(box: { current: Element | null }, state: T): T {
  const [isSeen, setSeen] = useState(false);
  const last = useRef(state);
  useLayoutEffect(() => {
    if (!box.current) return;
    const observer = new IntersectionObserver((entries) => setSeen(entries.at(-1)?.isIntersecting === true), { rootMargin: `${NEAR}px` });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  if (isSeen) last.current = state;
  return last.current;
}
