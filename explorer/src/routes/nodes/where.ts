// Conditions on nodes, as the address holds them: `cpu.free>8 zone=a taint=gpu cordoned=no name~ip-10`, all of which have to hold.
//
// A resource is a name with `.free`, `.allocatable` or `.requested`; `name`, `taint` and `cordoned` are words; anything else is the key of
// a label, also as `label:KEY`. Start at parseWhere.

import { keyOf } from "../../edits/sidecar";

/** One condition. */
export interface Condition {
  /** As it was written. */
  text: string;
  field:
    | { kind: "amount"; amount: "free" | "allocatable" | "requested"; resource: string }
    | { kind: "label"; key: string }
    | { kind: "name" }
    | { kind: "taint" }
    | { kind: "cordoned" };
  operator: Operator;
  /** An amount in the units of the API, or a text. */
  value: number | string;
}

/** Comparisons of amounts; `~` is one of texts alone. */
const COMPARED = {
  ">=": (a: number, b: number) => a >= b,
  "<=": (a: number, b: number) => a <= b,
  "!=": (a: number, b: number) => a !== b,
  ">": (a: number, b: number) => a > b,
  "<": (a: number, b: number) => a < b,
  "=": (a: number, b: number) => a === b,
  "~": () => false,
};

export type Operator = keyof typeof COMPARED;

const TERM = /^(?<field>[^<>=!~]+?)(?<operator>>=|<=|!=|>|<|=|~)(?<value>.*)$/;
const AMOUNT = /^(?<resource>.+)\.(?<amount>free|allocatable|requested)$/;

/** The conditions of a text, or the first term that is none, with what it should be. */
export function parseWhere(text: string): { conditions: Condition[]; error?: string } {
  const conditions: Condition[] = [];
  for (const term of text.split(/\s+/).filter(Boolean)) {
    const parsed = parseTerm(term);
    if (typeof parsed === "string") return { conditions: [], error: parsed };
    conditions.push(parsed);
  }
  return { conditions };
}

function parseTerm(text: string): Condition | string {
  const groups = TERM.exec(text)?.groups;
  if (!groups) return `“${text}” is no condition: write cpu.free>8, KEY=VALUE, taint=KEY, cordoned=yes or name~TEXT`;
  const { field = "", value = "" } = groups;
  const operator = groups["operator"] as Operator;
  const amount = AMOUNT.exec(field)?.groups;
  if (amount && !field.startsWith("label:")) {
    const resource = amount["resource"] ?? "";
    const number = quantity(resource, value);
    if (number === null) return `“${value}” is no amount of ${resource}: write 8, 500m or 16Gi`;
    if (operator === "~") return `“${text}”: an amount is compared with > >= < <= = or !=`;
    return { text, field: { kind: "amount", amount: amount["amount"] as "free", resource }, operator, value: number };
  }
  if (!["=", "!=", "~"].includes(operator)) return `“${text}”: only amounts, such as cpu.free, are compared with ${operator}`;
  switch (field) {
    case "name":
      return { text, field: { kind: "name" }, operator, value };
    case "taint":
      return { text, field: { kind: "taint" }, operator, value };
    case "cordoned": {
      if (value !== "yes" && value !== "no") return "cordoned is yes or no";
      return { text, field: { kind: "cordoned" }, operator, value };
    }
    default:
      return { text, field: { kind: "label", key: field.replace(/^label:/, "") }, operator, value };
  }
}

const SUFFIXES: Record<string, number> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** A quantity of Kubernetes in the units of the API: millicores of `cpu`, whole units of everything else. */
export function quantity(resource: string, text: string): number | null {
  const groups = /^(?<number>-?\d+(?:\.\d+)?)(?<suffix>[a-zA-Z]*)$/.exec(text)?.groups;
  const factor = SUFFIXES[groups?.["suffix"] ?? "?"];
  if (!groups || factor === undefined) return null;
  return Number(groups["number"]) * factor * (resource === "cpu" ? 1_000 : 1);
}

/** Columns of the API that conditions read. */
export function columnsOf(conditions: Condition[]): string[] {
  return conditions.flatMap(({ field }) => {
    switch (field.kind) {
      case "amount":
        return [`${field.amount}:${field.resource}`];
      case "label":
        return [`label:${field.key}`];
      default:
        return [];
    }
  });
}

/** What conditions compare of a row. */
export interface RowFacts {
  name: (row: number) => string;
  isCordoned: (row: number) => boolean;
  taints: (row: number) => string;
  label: (key: string, row: number) => string | null;
  amount: (column: string, row: number) => number;
}

/** Whether a row meets a condition. */
export function meets(condition: Condition, facts: RowFacts, row: number): boolean {
  const { field, operator, value } = condition;
  switch (field.kind) {
    case "amount":
      return COMPARED[operator](facts.amount(`${field.amount}:${field.resource}`, row), Number(value));
    case "cordoned":
      return facts.isCordoned(row) === ((value === "yes") === (operator !== "!="));
    case "name":
      return matches(facts.name(row), operator, String(value));
    case "label":
      return matches(facts.label(field.key, row), operator, String(value));
    case "taint": {
      const keys = facts.taints(row).split(" ").filter(Boolean).map(keyOf);
      const has = operator === "~" ? keys.some((key) => key.includes(String(value))) : keys.includes(String(value));
      return has === (operator !== "!=");
    }
  }
}

function matches(text: string | null, operator: Operator, value: string): boolean {
  if (operator === "~") return text !== null && text.includes(value);
  return (text === value) === (operator === "=");
}
