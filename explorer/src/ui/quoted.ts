// Words of commands that people paste into a shell. Start at quoted.

import { visible } from "./shown";

/**
 * A word for a shell, in quotes where it needs them. What is pasted is typed: a control character would end the line or the quotes of it,
 * whatever stands around it, so that marks stand for these. No name and no quantity has one.
 */
export function quoted(word: string): string {
  const shown = visible(word);
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}
