// Amounts of resources exactly, in the words of the command line: a node that lacks 50 millicores must not seem to lack none.
// Start at `amount`.

import { count } from "../../ui/format";

const UNITS: [string, bigint][] = [["Ti", 1n << 40n], ["Gi", 1n << 30n], ["Mi", 1n << 20n], ["Ki", 1n << 10n], ["", 1n]];

/** Largest exact number that is written before a unit: with more digits, a larger unit and two decimals are read faster. */
const EXACT = 10_000n;

/** An amount with the name of its resource, such as `1.5 cpu`. `text` is in millicores for `cpu`, else in whole units. */
export function amount(resource: string, text: string): string {
  return `${number(resource, text)} ${resource === "pods" && text === "1" ? "pod" : resource}`;
}

/** An amount in the unit of its resource. Text that is no number stays as it is. */
export function number(resource: string, text: string): string {
  if (!/^-?[0-9]+$/.test(text)) return text;
  const value = BigInt(text);
  if (resource === "cpu") return decimal(value, 1_000n, 3);
  return /^(memory|ephemeral-storage|storage|hugepages-.*)$/.test(resource) ? bytes(value) : count(value);
}

function bytes(value: bigint): string {
  const size = value < 0n ? -value : value;
  const exact = UNITS.find(([, unit]) => size >= unit && value % unit === 0n && size / unit < EXACT);
  if (exact) return `${value / exact[1]}${exact[0]}`;
  const near = UNITS.find(([, unit]) => size >= unit);
  return near ? `${decimal(value, near[1], 2)}${near[0]}` : `${value}`;
}

/** `value / unit` with at most so many decimals, towards zero and without zeros at the end. */
function decimal(value: bigint, unit: bigint, decimals: number): string {
  const scale = 10n ** BigInt(decimals);
  const scaled = ((value < 0n ? -value : value) * scale) / unit;
  const fraction = `${scaled % scale}`.padStart(decimals, "0").replace(/0+$/, "");
  return `${value < 0n ? "-" : ""}${scaled / scale}${fraction ? `.${fraction}` : ""}`;
}
