/** Plain data as a configuration file holds it. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** Whether a value is an object in the sense of JSON: no array, no null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What stands at `path` (`["agents", "defaults"]`), or undefined where a step is missing. Only own properties count. */
export function valueAt(root: unknown, path: readonly string[]): JsonValue | undefined {
  let value: unknown = root;
  for (const part of path) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value as JsonValue | undefined;
}

/** The object at `path`, or null when there is none. */
export function objectAt(root: unknown, path: readonly string[]): JsonObject | null {
  const value = valueAt(root, path);
  return isObject(value) ? value : null;
}

/** The trimmed text at `path`, or undefined when it is no text or blank. */
export function textAt(root: unknown, path: readonly string[]): string | undefined {
  const value = valueAt(root, path);
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/**
 * `over` merged into `base`, both left as they were: objects key by key, anything else from `over`.
 * Arrays follow `arrays`: `$include` joins them, a configuration handed over in a call replaces them.
 */
export function merged(base: JsonValue, over: JsonValue, arrays: "join" | "replace"): JsonValue {
  if (Array.isArray(base) && Array.isArray(over) && arrays === "join") return [...base, ...over];
  if (!isObject(base) || !isObject(over)) return over;
  const result: JsonObject = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (key === "__proto__") continue;
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    result[key] = before === undefined ? value : merged(before, value, arrays);
  }
  return result;
}
