// Scores from 0 to 100 of raw scores, as the host makes them over the nodes on which the pod fits. Start at `normalized`.
import { noScore } from '../scorer.js';

const MAX_SCORE = 100n;

/** An s64 as sums and products wrap in the host. */
const s64 = (value) => BigInt.asIntN(64, value);

/** What each normalization makes of the raw scores, of which some row has one: a function of a raw score. Divisions cut toward zero. */
const NORMALIZATIONS = {
  none: () => (raw) => raw,
  'by-largest': (lowest, highest) => (highest <= 0n ? (raw) => raw : (raw) => s64(MAX_SCORE * raw) / highest),
  'by-largest-reversed': (lowest, highest) =>
    highest <= 0n ? () => MAX_SCORE : (raw) => s64(MAX_SCORE - s64(MAX_SCORE * raw) / highest),
  'by-range': (lowest, highest) => {
    const range = s64(highest - lowest);
    // In this order: 29 of 100 is 28, which exact arithmetic would make 29.
    return (raw) => (range <= 0n ? 0n : BigInt(Math.trunc(100 * (Number(s64(raw - lowest)) / Number(range)))));
  },
  'by-distance': (lowest, highest) =>
    highest <= 0n ? () => MAX_SCORE : (raw) => s64(MAX_SCORE * s64(s64(highest + lowest) - raw)) / highest,
};

/** The score of each raw score: 0 where it is none. */
export function normalized(normalization, raws) {
  const known = raws.filter((raw) => raw !== noScore).map(BigInt);
  const lowest = known.reduce((one, other) => (other < one ? other : one), known[0]);
  const highest = known.reduce((one, other) => (other > one ? other : one), known[0]);
  const score = known.length === 0 ? undefined : NORMALIZATIONS[normalization](lowest, highest);
  return raws.map((raw) => (raw === noScore ? 0 : Number(score(BigInt(raw)))));
}

/** What a call has said, by node: `names` are those of its rows, `feasible` whether the pod fits each. */
export function scoring(normalization, { tag, val }, names, feasible) {
  if (tag === 'skip') return { outcome: 'Skipped', error: undefined, raw: {}, normalized: {} };
  if (tag === 'failed') return { outcome: 'Failed', error: val, raw: {}, normalized: {} };
  const rows = names.map((_, row) => row);
  const fitting = rows.filter((row) => feasible[row]);
  const scores = normalized(normalization, fitting.map((row) => val[row]));
  const outside = scores.findIndex((score) => score < 0 || score > 100);
  if (outside >= 0) {
    throw new RangeError(
      `the node ${names[fitting[outside]]} has the score ${scores[outside]} by the normalization ${normalization}: the host takes 0 to 100`,
    );
  }
  return {
    outcome: 'Scored',
    error: undefined,
    raw: Object.fromEntries(rows.filter((row) => val[row] !== noScore).map((row) => [names[row], val[row]])),
    normalized: Object.fromEntries(fitting.map((row, index) => [names[row], scores[index]])),
  };
}
