import type { JsonValue } from "../json.ts";

/** How a value is checked and what it becomes. */
export type KeyType =
  | "boolean"
  | "integer"
  | "number"
  | "text"
  /** One of `values`. */
  | "choice"
  /** A list whose members are among `values`. */
  | "choices"
  /** A map of texts to texts. */
  | "headers"
  /** A text, or `{source, provider, id}`. */
  | "secret"
  /** A list of texts. */
  | "texts"
  /** A list of texts or `{path, pattern?, name?}`. */
  | "paths"
  /** `5m`, `90s`, `0`; a bare number counts minutes. */
  | "duration"
  /** A number of bytes, or a text such as `2mb`. */
  | "bytes"
  /** A whole number above 0, or `auto`. */
  | "size"
  /** `{default, rules: [{action, match}]}`. */
  | "sendPolicy";

/** One configuration key. */
export type KeySpec = {
  /** `search` keys stand below `memorySearch` or `memory.search`, the others at their full path. */
  section: "search" | "root";
  /** Dotted path below the section. */
  path: string;
  type: KeyType;
  /** What holds when the key is unset; undefined: see the description. */
  default?: JsonValue;
  min?: number;
  max?: number;
  values?: readonly string[];
  /** A value outside `values` counts as unset, with an issue, instead of being an error. */
  lenient?: true;
  /** Lists of an agent are added to those of the defaults instead of replacing them. */
  joined?: true;
  /** One sentence for the reference. */
  description: string;
};

/** What a row may say beyond its type. */
export type KeyOptions = Partial<Pick<KeySpec, "default" | "min" | "max" | "values" | "lenient" | "joined">>;

/** A row whose key stands below `memorySearch` or `memory.search`. */
export function search(path: string, type: KeyType, description: string, options: KeyOptions = {}): KeySpec {
  return { section: "search", path, type, description, ...options };
}

/** A row whose key stands at its full path. */
export function root(path: string, type: KeyType, description: string, options: KeyOptions = {}): KeySpec {
  return { section: "root", path, type, description, ...options };
}

/** Defaults that many rows share. */
export const on: KeyOptions = { default: true };
export const off: KeyOptions = { default: false };
