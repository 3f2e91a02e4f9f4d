// Words of commands that people paste into a shell. Start at quoted.

/** A word for a shell, in quotes where it needs them. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
