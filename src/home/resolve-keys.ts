import { isObject, valueAt, type JsonObject, type JsonValue } from "../json.ts";
import { agentEntries } from "./agents.ts";
import { checkedValue, wrongType } from "./key-values.ts";
import type { KeySpec } from "./key-spec.ts";
import { KEYS } from "./keys.ts";
import { nearestName } from "../edit-distance.ts";
import { withoutCredentials } from "../printable.ts";

/** One key with what it came to and where that stood: a path of the configuration, or `default`. */
export type ResolvedKey = { key: KeySpec; value: JsonValue | undefined; origin: string };

/** Every key of the table as it holds for one agent. */
export type ResolvedKeys = {
  all: ResolvedKey[];
  issues: string[];
  /** The row of a key; naming one that is not in the table is a fault of the program. */
  get(path: string): ResolvedKey;
};

/** A place that may hold a key: its path in the configuration and what stands there. */
type Layer = { label: string; settings: JsonObject; shared: boolean };

/** Paths of the table's rows that a test holds for. */
function pathsOf(isWanted: (key: KeySpec) => boolean): string[] {
  return KEYS.filter(isWanted).map((key) => key.path);
}

/**
 * Resolves every key for one agent: the agent's own settings, then `memory.search`, then `agents.defaults.memorySearch`,
 * then the table's default. A value of the wrong type throws `CONFIG_TYPE` or `CONFIG_VALUE`; unknown keys, values out of
 * range and the old top-level `memorySearch` become issues.
 */
export function resolveKeys(config: JsonObject, agentId: string): ResolvedKeys {
  const issues: string[] = [];
  const layers = searchLayers(config, agentId, issues);
  const searchPaths = layers.length === 0 ? [] : pathsOf((key) => key.section === "search");
  for (const layer of layers) issues.push(...unknownKeys(layer.settings, layer.label, searchPaths));
  const memory = layerAt(config, ["memory"]);
  if (memory !== null) {
    const memoryPaths = pathsOf((key) => key.path.startsWith("memory."));
    issues.push(...unknownKeys(memory, "memory", memoryPaths, "memory.", ["memory.search"]));
  }

  const outer = rootLayers(config, agentId);
  const all = KEYS.map((key) => resolvedKey(key, key.section === "search" ? layers : outer, issues));
  const rows = new Map(all.map((row) => [row.key.path, row]));
  const get = (path: string): ResolvedKey => {
    const row = rows.get(path);
    if (row === undefined) throw new Error(`${path} is not in the table of keys`);
    return row;
  };
  return { all, issues: [...new Set(issues)], get };
}

/** What each key resolved to and why, for `status --deep`; secrets are shown as `(set)`, addresses without them. */
export function explainKeys(config: JsonObject, agentId: string): { key: string; value: JsonValue; origin: string }[] {
  return resolveKeys(config, agentId).all.map(({ key, value, origin }) => ({
    key: key.path,
    value: origin === "default" ? (value ?? null) : shownValue(key, value),
    origin,
  }));
}

function shownValue(key: KeySpec, value: JsonValue | undefined): JsonValue {
  if (value === undefined) return null;
  if (isSecret(key)) return "(set)";
  return typeof value === "string" && ADDRESSES.has(key.path) ? withoutCredentials(value) : value;
}

/** Keys that may hold an address, and in it a user's name, a password or a key. */
const ADDRESSES = new Set(["remote.baseUrl", "local.modelPath", "model"]);

function isSecret(key: KeySpec): boolean {
  return key.type === "secret" || (key.type === "headers" && key.path.startsWith("remote."));
}

function layerAt(config: JsonObject, path: string[]): JsonObject | null {
  const value = valueAt(config, path);
  if (value === undefined || isObject(value)) return value ?? null;
  throw wrongType(path.join("."), "an object", value);
}

function searchLayers(config: JsonObject, agentId: string, issues: string[]): Layer[] {
  const layers: Layer[] = [];
  const add = (root: JsonObject, path: string[], prefix: string, shared: boolean): boolean => {
    const settings = layerAt(root, path);
    if (settings !== null) layers.push({ label: `${prefix}${path.join(".")}`, settings, shared });
    return settings !== null;
  };
  for (const entry of agentEntries(config, agentId)) {
    add(entry.settings, ["memory", "search"], `${entry.label}.`, false);
    add(entry.settings, ["memorySearch"], `${entry.label}.`, false);
  }
  add(config, ["memory", "search"], "", true);
  add(config, ["agents", "defaults", "memorySearch"], "", true);
  if (add(config, ["memorySearch"], "", true)) {
    issues.push("memorySearch at the top level is the old place: move it to agents.defaults.memorySearch.");
  }
  return layers;
}

/** Full paths; `agents.defaults.X` may also stand as `X` in the agent's own settings, which then wins. */
function rootLayers(config: JsonObject, agentId: string): Layer[] {
  const own = agentEntries(config, agentId).map(({ label, settings }) => ({ label, settings, shared: false }));
  return [...own, { label: "", settings: config, shared: true }];
}

function resolvedKey(key: KeySpec, layers: Layer[], issues: string[]): ResolvedKey {
  const found: { value: JsonValue; origin: string; shared: boolean }[] = [];
  for (const layer of layers) {
    const path = pathInLayer(key, layer);
    const value = path === null ? undefined : valueAt(layer.settings, path);
    if (path === null || value === undefined) continue;
    const origin = layer.label === "" ? path.join(".") : `${layer.label}.${path.join(".")}`;
    const checked = checkedValue(key, value, origin);
    if (checked.issue !== undefined) issues.push(checked.issue);
    if (checked.value !== undefined) found.push({ value: checked.value, origin, shared: layer.shared });
  }
  if (key.joined === true && found.length > 0) return joinedKey(key, found);
  const first = found[0];
  return first === undefined
    ? { key, value: key.default, origin: "default" }
    : { key, value: first.value, origin: first.origin };
}

function pathInLayer(key: KeySpec, layer: Layer): string[] | null {
  const parts = key.path.split(".");
  if (key.section === "search" || layer.shared) return parts;
  return key.path.startsWith("agents.defaults.") ? parts.slice(2) : null;
}

/** The list of the defaults, then the agent's, each entry once. */
function joinedKey(key: KeySpec, found: { value: JsonValue; origin: string; shared: boolean }[]): ResolvedKey {
  const own = found.find((entry) => !entry.shared);
  const shared = found.find((entry) => entry.shared);
  const used = [shared, own].filter((entry) => entry !== undefined);
  const seen = new Set<string>();
  const value = used
    .flatMap((entry) => (Array.isArray(entry.value) ? entry.value : []))
    .filter((entry) => {
      const text = JSON.stringify(entry);
      return !seen.has(text) && seen.add(text);
    });
  return { key, value, origin: used.map((entry) => entry.origin).join(" + ") };
}

/** A sentence for each key below `settings` that the table does not know; a scalar where a group belongs throws. */
function unknownKeys(
  settings: JsonObject,
  label: string,
  known: readonly string[],
  prefix = "",
  skipped: readonly string[] = [],
): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    if (skipped.includes(path) || known.includes(path)) return [];
    const place = `${label}.${name}`;
    if (known.some((candidate) => candidate.startsWith(`${path}.`))) {
      if (!isObject(value)) throw wrongType(place, "an object", value);
      return unknownKeys(value, place, known, `${path}.`, skipped);
    }
    const nearest = nearestKey(path, known);
    return [`Unknown key ${place}${nearest === undefined ? "." : `: did you mean ${nearest}?`}`];
  });
}

/** The known key that an unknown one most likely stands for: the same name elsewhere, else the nearest spelling. */
function nearestKey(path: string, known: readonly string[]): string | undefined {
  const last = (key: string): string => key.slice(key.lastIndexOf(".") + 1);
  const group = path.slice(0, path.lastIndexOf(".") + 1);
  const names = [...new Set(known.filter((key) => key.startsWith(group)).map((key) => siblingOf(key, group)))];
  const spelled = nearestName(path, names);
  if (spelled !== undefined) return spelled;
  return known.find((key) => last(key).toLowerCase() === last(path).toLowerCase()) ?? nearestName(path, known);
}

function siblingOf(key: string, group: string): string {
  const end = key.indexOf(".", group.length);
  return end === -1 ? key : key.slice(0, end);
}
