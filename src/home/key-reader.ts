import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import type { ResolvedKeys } from "./resolve-keys.ts";
import type { ExtraPath } from "./types.ts";

/** Resolved keys by their kind. Values were checked when they were resolved, so a wrong kind here is a fault of the program. */
export type KeyReader = {
  flag(path: string): boolean;
  number(path: string): number;
  text(path: string): string;
  optionalFlag(path: string): boolean | undefined;
  optionalNumber(path: string): number | undefined;
  optionalText(path: string): string | undefined;
  texts(path: string): string[];
  paths(path: string): ExtraPath[];
  object(path: string): JsonObject | undefined;
  /** The value as it stands, whatever its kind. */
  value(path: string): JsonValue | undefined;
  /** Where the value stands: a path of the configuration, or `default`. */
  origin(path: string): string;
};

/** A reader of `keys`. */
export function keyReader(keys: ResolvedKeys): KeyReader {
  const optional = <T>(path: string, isKind: (value: unknown) => value is T): T | undefined => {
    const { value } = keys.get(path);
    if (value === undefined || isKind(value)) return value;
    throw new Error(`${path} is of another kind than its reader expects`);
  };
  const required = <T>(path: string, isKind: (value: unknown) => value is T): T => {
    const value = optional(path, isKind);
    if (value === undefined) throw new Error(`${path} has no default`);
    return value;
  };
  return {
    flag: (path) => required(path, isFlag),
    number: (path) => required(path, isNumber),
    text: (path) => required(path, isText),
    optionalFlag: (path) => optional(path, isFlag),
    optionalNumber: (path) => optional(path, isNumber),
    optionalText: (path) => optional(path, isText),
    texts: (path) => optional(path, isTexts) ?? [],
    paths: (path) => optional(path, isPaths) ?? [],
    object: (path) => optional(path, isObject),
    value: (path) => keys.get(path).value,
    origin: (path) => keys.get(path).origin,
  };
}

function isFlag(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}

function isPaths(value: unknown): value is ExtraPath[] {
  return Array.isArray(value) && value.every((entry) => isObject(entry) && isText(entry["path"]));
}
