// Times in a page that stays open: how long ago, with the moment itself beside it. Start at Ago.

import { useNow } from "../api/hooks";
import { duration, moment } from "./format";

/** How long ago a moment in RFC 3339 was; its date is the title. */
export function Ago({ time }: { time: string }) {
  const now = useNow();
  const at = Date.parse(time);
  if (Number.isNaN(at)) return <span>{time}</span>;
  return (
    <time dateTime={time} title={moment(at, 0)}>
      {duration(now - at)}
    </time>
  );
}

/** The moment, with how long ago that was. */
export function Moment({ time }: { time: string }) {
  const now = useNow();
  const at = Date.parse(time);
  if (Number.isNaN(at)) return <span>{time}</span>;
  return (
    <time dateTime={time}>
      {moment(at, now)} <span class="muted">({duration(now - at)} ago)</span>
    </time>
  );
}
