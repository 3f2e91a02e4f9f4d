// The taints of a node: some of them at first, all of them on request. Start at Taints.

import { useState } from "preact/hooks";
import { count } from "../../ui/format";
import { Shown } from "../../ui/shown";
import { taint as textOf } from "../pod/details";

/** Taints that are shown at first. */
const SHOWN = 50;

export function Taints({ taints }: { taints: { key: string; value?: string; effect: string }[] }) {
  const [all, setAll] = useState(false);
  if (taints.length === 0) return <>none</>;
  const shown = all ? taints : taints.slice(0, SHOWN);
  return (
    <>
      <ul class="chips">
        {shown.map((taint) => <li key={`${taint.key} ${taint.effect}`} class="badge"><Shown text={textOf(taint)} /></li>)}
      </ul>
      {taints.length > shown.length && (
        <button type="button" onClick={() => setAll(true)}>Show all {count(taints.length)} taints</button>
      )}
    </>
  );
}
