// Names like one that is not there, for whoever has mistyped it. Start at `nearNames`.

/** Edits from one name to another that make it near: a slip of the finger or two. */
const NEAR = 3;

/** Names that are proposed. */
const PROPOSED = 3;

/** Of some pods as `NAMESPACE/NAME`, those whose name is near, the nearest first. */
export function nearNames(namespace: string, name: string, pods: readonly string[]): string[] {
  const near = pods.map((pod) => {
    const slash = pod.indexOf("/");
    const elsewhere = pod.slice(0, slash) === namespace ? 0 : 1;
    return { pod, far: distance(name, pod.slice(slash + 1)) + elsewhere };
  });
  return near
    // Two short names differ in few letters, whatever they are.
    .filter(({ pod, far }) => far <= NEAR && far * 2 <= name.length + 1 && pod !== `${namespace}/${name}`)
    .sort((a, b) => a.far - b.far || (a.pod < b.pod ? -1 : 1))
    .slice(0, PROPOSED)
    .map(({ pod }) => pod);
}

/** The number of characters to insert, delete or replace between two texts; for those of very different length, more than is near. */
export function distance(one: string, other: string): number {
  const [from, to] = [[...one], [...other]];
  if (Math.abs(from.length - to.length) > NEAR) return NEAR + 1;
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  from.forEach((letter, at) => {
    const next = [at + 1];
    to.forEach((of, column) => {
      next.push(Math.min(next[column]! + 1, row[column + 1]! + 1, row[column]! + (letter === of ? 0 : 1)));
    });
    row = next;
  });
  return row[to.length]!;
}
