import { isDeepStrictEqual } from "node:util";
import type { Document, Pair, Range, YAMLMap } from "yaml";
import { isObject, type JsonObject, type JsonValue } from "../json.ts";
import { parsedDocument } from "./index-yml.ts";

/** One place of the text that is written anew. */
type Splice = { from: number; to: number; text: string };

/** One difference between two maps: `value` is undefined where a key is gone; `renamed` where it took another's place. */
type Change = { path: string[]; key: string; value: JsonValue | undefined; renamed?: string };

type Yaml = typeof import("yaml");
type ScalarValue = string | number | boolean | null;

/**
 * `text`, which holds `before`, with only those lines written anew that make it hold `after`: comments, quotes, blank lines and all
 * else stay as they are. Null where that can't be done, as where a change would reach more than its own key through an anchor:
 * whoever gets it writes the whole text.
 */
export function splicedYml(
  yaml: Yaml,
  { text, document, before, after }: { text: string; document: Document; before: JsonObject; after: JsonObject },
): string | null {
  const splices: Splice[] = [];
  const isShared = (path: string[], key: string): boolean =>
    yaml.isAlias(pairOf(yaml, mapAt(yaml, document, path), key)?.value);
  for (const change of changesOf(before, after, isShared)) {
    const splice = spliceOf(yaml, text, document, change);
    if (splice === null) return null;
    splices.push(splice);
  }
  splices.sort((one, other) => other.from - one.from);
  const spliced = splices.reduce((rest, { from, to, text: put }) => rest.slice(0, from) + put + rest.slice(to), text);
  const read = parsedDocument(yaml, spliced, new yaml.LineCounter());
  if (read.errors.length > 0 || hasStrayAlias(yaml, read)) return null;
  return isDeepStrictEqual(read.toJS(), after) ? spliced : null;
}

function hasStrayAlias(yaml: Yaml, document: Document): boolean {
  let isStray = false;
  yaml.visit(document, {
    Alias(_key, node) {
      if (node.resolve(document) === undefined) isStray = true;
    },
  });
  return isStray;
}

/** What tells two maps apart, at the keys furthest inside, or at one whose value `isShared`, since that is written out first. */
function changesOf(
  before: JsonObject,
  after: JsonObject,
  isShared: (path: string[], key: string) => boolean,
  path: string[] = [],
): Change[] {
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const added = Object.keys(after).filter((key) => !Object.hasOwn(before, key));
  const [from, to] = [gone[0], added[0]];
  if (from !== undefined && to !== undefined && gone.length === 1 && added.length === 1) {
    if (isDeepStrictEqual(before[from], after[to])) return [{ path, key: from, value: undefined, renamed: to }];
  }
  const changes: Change[] = gone.map((key) => ({ path, key, value: undefined }));
  for (const [key, value] of Object.entries(after)) {
    const old = before[key];
    if (Object.hasOwn(before, key) && isDeepStrictEqual(old, value)) continue;
    if (isObject(old) && isObject(value) && Object.keys(old).length > 0 && !isShared(path, key))
      changes.push(...changesOf(old, value, isShared, [...path, key]));
    else changes.push({ path, key, value });
  }
  return changes;
}

function spliceOf(yaml: Yaml, text: string, document: Document, change: Change): Splice | null {
  const map = mapAt(yaml, document, change.path);
  if (document.contents === null) return firstKey(yaml, text, change);
  if (map === null || map.items.length === 0) return null;
  const pair = pairOf(yaml, map, change.key);
  if (change.renamed !== undefined) return pair === null ? null : renamed(yaml, pair, change.renamed);
  if (change.value === undefined) return pair === null ? null : removed(yaml, text, document, { map, pair, change });
  if (pair === null) return added(yaml, text, map, change);
  return isObject(change.value) ? filled(yaml, text, pair, change.value) : replaced(yaml, text, pair, change.value);
}

function mapAt(yaml: Yaml, document: Document, path: string[]): YAMLMap | null {
  let node: unknown = document.contents;
  for (const key of path) {
    if (!yaml.isMap(node)) return null;
    node = pairOf(yaml, node, key)?.value;
  }
  return yaml.isMap(node) ? node : null;
}

function pairOf(yaml: Yaml, map: YAMLMap | null, name: string): Pair | null {
  return map?.items.find(({ key }) => yaml.isScalar<ScalarValue>(key) && String(key.value ?? "") === name) ?? null;
}

/** The key as a map writes it. */
function renamed(yaml: Yaml, { key }: Pair, name: string): Splice | null {
  const at = rangeOf(key);
  const written = new yaml.Document({ [name]: 0 }).toString({ lineWidth: 0 });
  return at === null || !written.endsWith(": 0\n") ? null : { from: at[0], to: at[1], text: written.slice(0, -4) };
}

/** A value on one line, in the quotes that it had. */
function replaced(yaml: Yaml, text: string, { key, value }: Pair, to: JsonValue): Splice | null {
  const at = rangeOf(value);
  if (at === null || !(yaml.isScalar(value) || yaml.isAlias(value)) || typeof to === "object") return null;
  const scalar = new yaml.Scalar(to);
  if (yaml.isScalar(value) && value.type?.startsWith("QUOTE") === true) scalar.type = value.type;
  const line = new yaml.Document(scalar).toString({ lineWidth: 0 }).replace(/\n$/, "");
  const written = line.includes("\n") ? JSON.stringify(to) : line;
  if (at[0] !== at[1]) return { from: at[0], to: text[at[1] - 1] === "\n" ? at[1] - 1 : at[1], text: written };
  const colon = colonOf(text, key);
  return colon < 0 ? null : { from: colon + 1, to: colon + 1, text: ` ${written}` };
}

/** A map in place of nothing, of an empty one or of an alias, below its key. */
function filled(yaml: Yaml, text: string, pair: Pair, to: JsonObject): Splice | null {
  const { key, value } = pair;
  const [indent, colon] = [indentOf(text, pair), colonOf(text, key)];
  const isEmpty = yaml.isMap(value) ? value.items.length === 0 : yaml.isScalar(value) && value.value === null;
  if (indent === null || colon < 0 || !(isEmpty || yaml.isAlias(value))) return null;
  const end = Math.max(colon + 1, rangeOf(value)?.[1] ?? 0);
  const next = lineEnd(text, end);
  const lines = indented(new yaml.Document(to).toString({ indent: 2, lineWidth: 0 }), `${indent}  `);
  return { from: colon + 1, to: next, text: `${text.slice(end, next).trimEnd()}\n${lines}` };
}

/** Behind comments alone, or nothing. */
function firstKey(yaml: Yaml, text: string, { key, value }: Change): Splice {
  const line = new yaml.Document({ [key]: value }).toString({ indent: 2, lineWidth: 0 });
  return { from: text.length, to: text.length, text: text === "" || text.endsWith("\n") ? line : `\n${line}` };
}

/** Behind the last line of the map's last pair and the comments in it, or behind its last value where the map stands in braces. */
function added(yaml: Yaml, text: string, map: YAMLMap, { key, value }: Change): Splice | null {
  const [first, last] = [map.items[0], map.items.at(-1)];
  const indent = first === undefined ? null : indentOf(text, first);
  if (last === undefined) return null;
  const document = new yaml.Document({ [key]: value });
  const end = contentEnd(yaml, last);
  if (map.flow === true) {
    (document.contents as unknown as YAMLMap).flow = true;
    const line = document.toString({ lineWidth: 0 }).trim();
    const written = line.includes("\n") ? JSON.stringify({ [key]: value }) : line;
    return { from: end, to: end, text: `, ${written.slice(1, -1).trim()}` };
  }
  if (indent === null) return null;
  const at = behindComments(text, end, indent);
  const lines = indented(document.toString({ indent: 2, lineWidth: 0 }), indent);
  return { from: at, to: at, text: at > 0 && text[at - 1] !== "\n" ? `\n${lines}` : lines };
}

/**
 * The lines of a pair, the comment right above them (the first pair's may be about the whole map, and stays), and those behind that are
 * indented like its content. A map that is then empty gets braces. Of a map in braces, the pair and a comma.
 */
function removed(
  yaml: Yaml,
  text: string,
  document: Document,
  { map, pair, change }: { map: YAMLMap; pair: Pair; change: Change },
): Splice | null {
  const [key, indent] = [rangeOf(pair.key), indentOf(text, pair)];
  if (map.flow === true) return removedInBraces(yaml, map, pair);
  if (key === null || indent === null) return null;
  let from = key[0] - indent.length;
  let to = behindComments(text, contentEnd(yaml, pair), indent);
  if (map.items.length === 1) {
    const owner = mapAt(yaml, document, change.path.slice(0, -1));
    const colon = owner === null ? -1 : colonOf(text, pairOf(yaml, owner, change.path.at(-1) ?? "")?.key);
    if (colon < 0) return null;
    return { from: colon + 1, to, text: ` {}${text.slice(colon + 1, from)}` };
  }
  if (map.items[0] !== pair) {
    const lineAbove = (): number => text.lastIndexOf("\n", from - 2) + 1;
    while (from > 0 && text.startsWith(`${indent}#`, lineAbove())) from = lineAbove();
  }
  if (text.slice(0, from).endsWith("\n\n") && text[to] === "\n") to++;
  return { from, to, text: "" };
}

function removedInBraces(yaml: Yaml, { items }: YAMLMap, pair: Pair): Splice | null {
  const at = items.indexOf(pair);
  const [before, next] = [items[at - 1], rangeOf(items[at + 1]?.key)];
  const from = before === undefined ? rangeOf(pair.key)?.[0] : contentEnd(yaml, before);
  if (from === undefined) return null;
  return { from, to: before === undefined && next !== null ? next[0] : contentEnd(yaml, pair), text: "" };
}

function rangeOf(node: unknown): Range | null {
  return (node as { range?: Range | null } | null | undefined)?.range ?? null;
}

/** The blanks before a pair that begins its line; null where something else does. */
function indentOf(text: string, { key }: Pair): string | null {
  const at = rangeOf(key)?.[0] ?? 0;
  const before = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^ *$/.test(before) ? before : null;
}

/** Where the colon behind a key is, or -1. */
function colonOf(text: string, key: unknown): number {
  const at = rangeOf(key);
  return at === null ? -1 : text.indexOf(":", at[1]);
}

/** Where what is written of a pair ends, comments aside. */
function contentEnd(yaml: Yaml, pair: Pair): number {
  let end = 0;
  const see = (_key: unknown, node: unknown): void => {
    const at = rangeOf(node);
    if (at !== null && (yaml.isScalar(node) || yaml.isAlias(node) || (yaml.isCollection(node) && node.flow === true)))
      end = Math.max(end, at[1]);
  };
  for (const node of [pair.key, pair.value]) if (yaml.isNode(node)) yaml.visit(node, see);
  return end;
}

/** Where the line that holds the character before `at` ends, its line break included. */
function lineEnd(text: string, at: number): number {
  const line = text.indexOf("\n", Math.max(at - 1, 0));
  return line < 0 ? text.length : line + 1;
}

/** The start of the line behind `end`, and behind the comments that follow there and are indented further than `indent`. */
function behindComments(text: string, end: number, indent: string): number {
  let at = lineEnd(text, end);
  const deeper = new RegExp(`${indent}[ \\t]+#[^\\n]*(?:\\n|$)`, "y");
  for (deeper.lastIndex = at; deeper.test(text); deeper.lastIndex = at) at = deeper.lastIndex;
  return at;
}

/** Each line that is not empty with `indent` before it. To YAML, as not to a regular expression's `^`, only a line feed ends one. */
function indented(lines: string, indent: string): string {
  return lines.replaceAll(/(?<=^|\n)(?=[^\n])/g, indent);
}
