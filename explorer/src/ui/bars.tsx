// Numbers as bars, each with its name, its number and a link; a list, so that it reads without the picture. Start at Bars.

import type { ComponentChildren } from "preact";
import { count } from "./format";

export interface Bar {
  key: string;
  label: ComponentChildren;
  value: number;
  href: string;
  /** A few words beside the label. */
  note?: string;
  class?: string | undefined;
}

/** Bars of one scale, whose end is the largest value. */
export function Bars({ bars, label }: { bars: Bar[]; label: string }) {
  const most = Math.max(1, ...bars.map((bar) => bar.value));
  return (
    <ul class="bars" aria-label={label}>
      {bars.map((bar) => (
        <li key={bar.key} class={bar.class}>
          <a href={bar.href}>
            <span class="bar-label">
              {bar.label}
              {bar.note && <span class="bar-note"> {bar.note}</span>}
            </span>
            <span class="bar-track" aria-hidden="true">
              <span class="bar-fill" style={{ width: `${(bar.value / most) * 100}%` }} />
            </span>
            <span class="bar-value">{count(bar.value)}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** A share of a whole as a short bar, with its number in words beside it. */
export function Meter({ part, whole, text }: { part: number; whole: number; text: string }) {
  const share = whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0;
  return (
    <span class="meter">
      <span class="meter-track" aria-hidden="true"><span class="meter-fill" style={{ width: `${share * 100}%` }} /></span>
      <span>{text}</span>
    </span>
  );
}
