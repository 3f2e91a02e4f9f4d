// The answer about a pod as text: for a ticket, a terminal or a script. Start at `ticket`.

import type { HelpfulEdit, NearNode, Why } from "../../api/why";
import { count, counted } from "../../ui/format";
import { quoted } from "../../ui/quoted";
import { escaped, visible } from "../../ui/shown";
import { amount } from "./amount";
import { details, listed } from "./details";

/** Facts of a row of the table, nearest nodes and edits that a ticket has. */
const SHOWN = 5;

/** The answer as Markdown. Text from outside is code, so that nothing in it is markup. */
export function ticket(answer: Why, link: string, edits: string[] = []): string {
  const lines = [`### ${code(`${answer.pod}  ${answer.cause.name}: ${answer.cause.headline}`)}`, ""];
  for (const edit of edits) lines.push(`- with the edit ${code(edit)}`);
  for (const fault of answer.faults) lines.push(`- **fault:** ${code(faultText(fault))}`);
  lines.push("| predicate | nodes rejected | left | why |", "|---|--:|--:|---|", `| | | ${count(answer.nodes)} | |`);
  for (const step of answer.funnel.filter(({ rejected }) => rejected > 0)) {
    const why = cell(listed(details(answer, step), SHOWN));
    lines.push(`| ${cell(step.predicate)} | ${count(step.rejected)} | ${count(step.after)} | ${why} |`);
  }
  lines.push("");
  for (const near of answer.nearest.slice(0, SHOWN)) lines.push(`- nearest: ${code(`${near.node} ${obstacle(near)}`)}`);
  for (const edit of answer.help.slice(0, SHOWN)) lines.push(`- would help: ${code(`--try ${edit.edit}`)}: ${gain(edit)}`);
  if (answer.message) lines.push(`- message: ${code(answer.message)}`);
  const { generation, policyGeneration } = answer.version;
  lines.push("", `nodesift: generation ${generation}, policy ${policyGeneration}, <${link}>`, "");
  return lines.join("\n");
}

/** The command that gives the same answer. */
export function command(namespace: string, name: string, by: string, edits: readonly string[] = []): string {
  const options = [...(by ? option("--by", by) : []), ...edits.flatMap((edit) => option("--try", edit))];
  const of = option("-n", namespace);
  // A name that begins with a dash would be read as an option.
  const words = name.startsWith("-") ? [...of, ...options, "--", name] : [name, ...of, ...options];
  return ["nodesift", "why", ...words].map(quoted).join(" ");
}

/** An option with its value, in one word where the value would be read as an option. */
export function option(name: string, value: string): string[] {
  return value.startsWith("-") ? [`${name}=${value}`] : [name, value];
}

/** The call that gives the same answer as a GET. */
export function curl(address: string): string {
  return `curl -s ${quoted(address)}`;
}

/** The call that gives the same answer as a POST of JSON. */
export function curlPost(address: string, body: string): string {
  return `curl -s ${quoted(address)} -H content-type:application/json --data-binary ${quoted(escaped(body))}`;
}

/** The one obstacle of a node, in words that follow its name. */
export function obstacle(near: NearNode): string {
  if (near.missing.length > 0) return `lacks ${near.missing.map((of) => amount(of.name, of.amount)).join(", ")}`;
  if (near.taints.length > 0) return `has ${near.taints.join(", ")}`;
  return `is rejected: ${near.reasons.join(", ") || near.predicate}`;
}

export function gain(edit: HelpfulEdit): string {
  return `+${counted(edit.gained, "node")}${edit.caveat ? ` (${edit.caveat})` : ""}`;
}

export function faultText(fault: Why["faults"][number]): string {
  const effect =
    fault.effect === "Rejected" ? "it counts as rejecting every node" : fault.effect === "Ignored" ? "it is ignored" : fault.effect;
  return `${fault.predicate} failed (${fault.fault}: ${fault.detail}); ${effect}`;
}

/** Code in a line, between more backticks than it has in a row. */
function code(text: string): string {
  const shown = visible(text).replace(/\s+/g, " ");
  const fence = "`".repeat(1 + Math.max(0, ...(shown.match(/`+/g) ?? []).map(({ length }) => length)));
  const pad = fence.length > 1 ? " " : "";
  return `${fence}${pad}${shown}${pad}${fence}`;
}

/** Code in a cell of a table, where a bar would end it, and a backslash before the bar's own too: a space keeps that apart. */
function cell(text: string): string {
  return text ? code(text.replace(/(\\?)\|/g, (_, before: string) => (before ? "\\ \\|" : "\\|"))) : "";
}
