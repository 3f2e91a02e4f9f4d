// Whole objects as what-ifs edit them, in the form in which the sidecar gives them out. Start at `Objects`.

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** An object of JSON. */
export type JsonObject = { [field: string]: Json };

/** A source of whole objects. A promise is rejected where the object is not to be had, with an error that says why. */
export interface Objects {
  pod(namespace: string, name: string): Promise<JsonObject>;
  node(name: string): Promise<JsonObject>;
  /** Whether there is a node of that name. */
  hasNode(name: string): Promise<boolean>;
  /** Names of all nodes that have a taint with this key. */
  taintedBy(key: string): Promise<string[]>;
}

/** The object in a field; absent where the value has no such field, or the field is no object. */
export function objectAt(value: Json | undefined, field: string): JsonObject | undefined {
  const found = isObject(value) ? value[field] : undefined;
  return isObject(found) ? found : undefined;
}

/** The list in a field; absent where the value has no such field, or the field is no list. */
export function listAt(value: Json | undefined, field: string): Json[] | undefined {
  const found = isObject(value) ? value[field] : undefined;
  return Array.isArray(found) ? found : undefined;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
