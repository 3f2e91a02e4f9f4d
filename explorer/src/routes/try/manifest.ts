// Pasted manifests: split into documents, and refused before they are sent where they are too large. The sidecar reads their YAML.
// Start at `documents`.

/** Bytes of a manifest that are sent at most: the sidecar reads no longer one. */
export const MANIFEST_BYTES = 512 * 1024;

export interface ManifestDocument {
  /** Kind and name, as far as they stand at the beginning of a line. */
  title: string;
  text: string;
}

/** The documents of a manifest: those between lines of three dashes, and the items of a List in JSON. Empty ones do not count. */
export function documents(text: string): ManifestDocument[] {
  const items = itemsOf(text);
  const texts = items ?? text.split(/^---(?:[ \t].*)?$/m).filter((part) => /^[ \t]*[^#\s]/m.test(part));
  return texts.map((part) => ({ title: titleOf(part), text: part }));
}

/** Why a manifest is not sent; empty where it is. */
export function refused(text: string): string {
  const bytes = new TextEncoder().encode(text).length;
  return bytes > MANIFEST_BYTES ? `manifest: ${bytes} bytes, and ${MANIFEST_BYTES} is the most that is sent` : "";
}

function itemsOf(text: string): string[] | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const { kind, items } = JSON.parse(text) as { kind?: unknown; items?: unknown };
    if (typeof kind === "string" && kind.endsWith("List") && Array.isArray(items)) return items.map((item) => JSON.stringify(item, null, 2));
  } catch {
    // The sidecar says where it is no JSON.
  }
  return undefined;
}

function titleOf(text: string): string {
  const kind = /^\s*"?kind"?:\s*"?([\w.]+)/m.exec(text)?.[1] ?? "no kind";
  const name = /^\s+"?name"?:\s*"?([^\s",]+)/m.exec(text)?.[1];
  return name ? `${kind} ${name}` : kind;
}
