// Times in a page that stays open: how long ago, with the moment itself beside it. Start at Ago.

import { useEffect, useState } from "preact/hooks";
import { onTick, useNow } from "../api/hooks";
import { duration, moment } from "./format";

/** How long ago a moment in RFC 3339 was; its date is the title. */
export function Ago({ time }: { time: string }) {
  const at = Date.parse(time);
  const [text, setText] = useState(() => duration(Date.now() - at));
  // A list has hundreds of these, most of which change once in minutes or hours.
  useEffect(() => {
    const tell = () => setText(duration(Date.now() - at));
    tell();
    return onTick(tell);
  }, [at]);
  if (Number.isNaN(at)) return <span>{time}</span>;
  return <time dateTime={time} title={moment(at, 0)}>{text}</time>;
}

/** The moment, with how long ago that was. */
export function Moment({ time }: { time: string }) {
  const now = useNow();
  const at = Date.parse(time);
  if (Number.isNaN(at)) return <span>{time}</span>;
  return (
    <time dateTime={time}>
      <span class="nowrap">{moment(at, now)}</span> <span class="muted nowrap">({duration(now - at)} ago)</span>
    </time>
  );
}
