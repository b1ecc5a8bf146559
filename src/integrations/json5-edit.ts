/*
 * Changes single values of a JSON5 (or JSON) text and leaves every other character, comments and spelling included, as it was.
 * Libraries that edit JSON with comments read JSONC; configuration files here have unquoted keys and single quotes too.
 */
import type { JsonObject, JsonValue } from "../json.ts";
import { isObject } from "../json.ts";

type Node = { start: number; end: number; kind: "object" | "array" | "other"; entries: Entry[] };
/** A member of an object or an element of an array; `comma` is where the comma after it stands. */
type Entry = { key: string | null; node: Node; comma: number | null };

/**
 * The text with `value` at `path`; objects on the way are made where they are missing. Null when that can't be done without
 * touching something else (a step on the way is no object). The text must parse as JSON5; a blank one counts as `{}`.
 */
export function withValue(text: string, path: readonly string[], value: JsonValue): string | null {
  const source = text.trim() === "" ? "{}\n" : text;
  let node = parsedTree(source);
  for (const [depth, key] of path.entries()) {
    if (node.kind !== "object") return null;
    // Of keys that stand twice the last one counts.
    const entry = node.entries.findLast((one) => one.key === key);
    if (entry === undefined) {
      const inserted = path.slice(depth + 1).reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), value);
      return verified(source, withEntry(source, node, key, inserted), path, value);
    }
    node = entry.node;
  }
  if (Bun.deepEquals(Bun.JSON5.parse(source.slice(node.start, node.end)), value)) return text;
  const written = rendered(value, indentAt(source, node.start), indentUnit(source), lineEnd(source));
  return verified(source, source.slice(0, node.start) + written + source.slice(node.end), path, value);
}

/** The text with `item` added to the list at `path`, which is made where it is missing; null as with `withValue`. */
export function withItem(text: string, path: readonly string[], item: JsonValue): string | null {
  const source = text.trim() === "" ? "{}\n" : text;
  let node = parsedTree(source);
  for (const key of path) {
    const entry = node.kind === "object" ? node.entries.findLast((one) => one.key === key) : undefined;
    if (entry === undefined) return withValue(source, path, [item]);
    node = entry.node;
  }
  if (node.kind !== "array") return null;
  const list = Bun.JSON5.parse(source.slice(node.start, node.end)) as JsonValue[];
  return verified(source, withEntry(source, node, null, item), path, [...list, item]);
}

/** The edited text, or null should it not say what was meant: nothing is ever written on trust. */
function verified(before: string, after: string, path: readonly string[], value: JsonValue): string | null {
  try {
    const meant = replacedAt(Bun.JSON5.parse(withoutMark(before)) as JsonValue, path, value);
    return meant !== null && Bun.deepEquals(Bun.JSON5.parse(withoutMark(after)), meant) ? after : null;
  } catch {
    return null;
  }
}

function replacedAt(data: JsonValue, [key, ...rest]: readonly string[], value: JsonValue): JsonValue | null {
  if (key === undefined) return value;
  if (!isObject(data)) return null;
  const inner = replacedAt(Object.hasOwn(data, key) ? (data[key] ?? null) : {}, rest, value);
  return { ...data, [key]: inner } satisfies JsonObject;
}

function withEntry(text: string, node: Node, key: string | null, value: JsonValue): string {
  const unit = indentUnit(text);
  const end = lineEnd(text);
  const last = node.entries.at(-1);
  const close = node.end - 1;
  const outer = indentAt(text, node.start);
  const name = key === null ? "" : `${JSON.stringify(key)}: `;
  if (last === undefined) {
    const inner = outer + unit;
    const comments = text.slice(node.start + 1, close).trimEnd();
    const entry = name + rendered(value, inner, unit, end);
    return `${text.slice(0, node.start + 1)}${comments}${end}${inner}${entry}${end}${outer}${text.slice(close)}`;
  }
  const spread = text.slice(node.start, last.node.start).includes("\n");
  const inner = spread ? indentAt(text, node.entries[0]?.node.start ?? node.start) : outer;
  const entry = name + (spread ? rendered(value, inner, unit, end) : JSON.stringify(value));
  if (!spread) {
    const at = last.comma === null ? last.node.end : last.comma + 1;
    return `${text.slice(0, at)}${last.comma === null ? ", " : " "}${entry}${text.slice(at)}`;
  }
  const comma = last.comma === null ? "," : "";
  const after = last.comma === null ? last.node.end : last.comma + 1;
  // A comment at the end of the line belongs to the entry before.
  const rest = /^[ \t]*(\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*)?(?=\r?\n)/.exec(text.slice(after, close))?.[0] ?? "";
  const at = after + rest.length;
  const trailing = last.comma === null ? "" : ",";
  return `${text.slice(0, last.node.end)}${comma}${text.slice(last.node.end, at)}${end}${inner}${entry}${trailing}${text.slice(at)}`;
}

function rendered(value: JsonValue, indent: string, unit: string, end: string): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", end + indent);
}

function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

/** The blanks that begin the line in which an offset lies. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? "";
}

function indentUnit(text: string): string {
  return /\n(\t| {2,8})(?=\S)/.exec(text)?.[1] ?? "  ";
}

function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, "");
}

/** Where everything stands in a text that is known to parse. */
function parsedTree(text: string): Node {
  let at = 0;

  function skip(): void {
    const blank = /(?:\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;
    blank.lastIndex = at;
    at += blank.exec(text)?.[0].length ?? 0;
  }

  function word(): string {
    const from = at;
    const quote = text[at];
    if (quote === '"' || quote === "'") {
      at += 1;
      while (at < text.length && text[at] !== quote) at += text[at] === "\\" ? 2 : 1;
      at += 1;
    } else {
      while (at < text.length && !/[\s,:[\]{}/]/.test(text[at] ?? "")) at += 1;
    }
    return text.slice(from, at);
  }

  function node(): Node {
    skip();
    const start = at;
    const open = text[at];
    if (open !== "{" && open !== "[") {
      word();
      return { start, end: at, kind: "other", entries: [] };
    }
    const [kind, close] = open === "{" ? (["object", "}"] as const) : (["array", "]"] as const);
    const entries: Entry[] = [];
    at += 1;
    for (skip(); at < text.length && text[at] !== close; skip()) {
      let key: string | null = null;
      if (kind === "object") {
        const raw = word();
        key = /^["']/.test(raw) ? String(Bun.JSON5.parse(raw)) : raw;
        skip();
        at += 1;
      }
      const entry: Entry = { key, node: node(), comma: null };
      skip();
      if (text[at] === ",") {
        entry.comma = at;
        at += 1;
      }
      entries.push(entry);
    }
    at += 1;
    return { start, end: at, kind, entries };
  }

  return node();
}
