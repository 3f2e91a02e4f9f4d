// Numbers, amounts, times and shares as people read them. Nothing here is of `Intl`, whose first use takes a browser longer than the rest of
// the first drawing. Start at count, amount and duration.

/** A number with separators: `12,345`. */
export function count(value: number | bigint): string {
  const [whole = "", fraction] = `${value}`.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction ? `${grouped}.${fraction}` : grouped;
}

/** A number with at most one decimal. */
function decimal(value: number): string {
  return count(Number(value.toFixed(1)));
}

/** A number with its noun: `1 pod`, `2 pods`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

const BINARY = ["", " Ki", " Mi", " Gi", " Ti", " Pi"];

/** An amount of a resource: cores of `cpu`, which is in millicores; bytes of memory and storage in powers of 1,024; else the number. */
export function amount(resource: string, value: number): string {
  const { size, name } = unitOf(resource, value);
  return `${decimal(value / size)}${name}`;
}

/** A part of an amount, both in the unit of the whole: `34.3 of 60 Gi`. */
export function share(resource: string, part: number, whole: number): string {
  const { size, name } = unitOf(resource, whole);
  return `${decimal(part / size)} of ${decimal(whole / size)}${name}`;
}

function unitOf(resource: string, value: number): { size: number; name: string } {
  if (resource === "cpu") return { size: 1_000, name: "" };
  if (!/^(memory|ephemeral-storage|hugepages-.*|.*storage)$/.test(resource)) return { size: 1, name: "" };
  const power = Math.min(BINARY.length - 1, Math.max(0, Math.floor(Math.log2(Math.abs(value) || 1) / 10)));
  return { size: 1_024 ** power, name: BINARY[power] ?? "" };
}

/** A length of time in its largest unit, from a unit of which there are at least two on: `95 s`, `14 min`, `3 h`, `9 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${count(Math.floor(seconds / 86_400))} d`;
}

/** A short time: `340 µs`, `12 ms`, `1.5 s`. */
export function microseconds(us: number): string {
  if (us < 1_000) return `${count(us)} µs`;
  if (us < 1_000_000) return `${decimal(us / 1_000)} ms`;
  return `${decimal(us / 1_000_000)} s`;
}

/** The time of day, with the date where it is another day: `10:32:04`, `2026-11-29 10:32:04`. */
export function moment(ms: number, now: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (new Date(now).toDateString() === at.toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** A share of a whole, as a percentage without decimals. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? `${Math.round((part / whole) * 100)} %` : "–";
}
