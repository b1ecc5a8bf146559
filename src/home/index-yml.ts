import type { Document, LineCounter } from "yaml";
import { MemqError, messageOf } from "../errors.ts";
import { isObject, valueAt, type JsonObject, type JsonValue } from "../json.ts";
import { nearestName } from "../edit-distance.ts";
import { sha256 } from "../sha256.ts";
import type { StoredCollection } from "../store/collections.ts";
import { isExclusion } from "./mask.ts";
import { wrongType } from "./key-values.ts";
import { configText } from "./read-text.ts";

/** One collection of `index.yml`. */
export type QmdCollectionConfig = {
  name: string;
  /** As written: may begin with `~` or be relative. */
  path: string;
  /** A comma list is a union. */
  pattern: string;
  ignore: string[];
  /** Path prefix (`""` or `/` for the whole collection) to text. */
  context: Record<string, string>;
  /** Shell command that runs before the collection is indexed. */
  update?: string;
  includeByDefault: boolean;
};

export type QmdModels = { embed?: string; rerank?: string; generate?: string };

/** `index.yml`, read. */
export type QmdConfig = {
  globalContext?: string;
  editorUri?: string;
  models: QmdModels;
  collections: QmdCollectionConfig[];
  /** SHA-256 (hex) of the whole content as qmd keeps it in `store_config.config_hash`. */
  hash: string;
  /** Keys that look like known ones misspelt: a sentence each. Other unknown keys are another program's and stay unsaid. */
  issues: string[];
};

export const DEFAULT_PATTERN = "**/*.md";

/** Reads `index.yml`; null when there is none. Errors: `CONFIG_SYNTAX` with the line, `CONFIG_TYPE` with the key. */
export async function readQmdConfig(path: string): Promise<QmdConfig | null> {
  const text = indexYmlText(path);
  if (text === null) return null;
  // Who writes reads it again for each collection, and of a thousand collections each has a thousandth of the text.
  if (lastRead?.path !== path || lastRead.text !== text) {
    lastRead = { path, text, config: qmdConfig(await parsedYaml(text, path), path) };
  }
  return lastRead.config;
}

let lastRead: { path: string; text: string; config: QmdConfig } | undefined;

/** What holds without an `index.yml`. */
export function emptyQmdConfig(): QmdConfig {
  return { models: {}, collections: [], hash: hashOf({ collections: {} }), issues: [] };
}

/** The text of `index.yml` without a byte order mark, or null when there is none. */
function indexYmlText(path: string): string | null {
  const text = configText(path);
  return text?.startsWith("\uFEFF") === true ? text.slice(1) : text;
}

async function parsedYaml(written: string, path: string): Promise<JsonObject> {
  // The quick parser folds quoted lines only where they end in line feeds.
  const text = written.replaceAll("\r\n", "\n");
  let value: unknown;
  try {
    value = quicklyParsed(text);
  } catch {
    // The strict parser's words name the line.
  }
  if (value === undefined) value = await strictlyParsed(text, path);
  if (value === null || value === undefined) return {};
  if (isObject(value)) return value;
  throw notAMap(path);
}

/**
 * What the text holds by the runtime's parser, which is a hundred times faster to load and to run but takes the last of two equal
 * keys, joins several documents into a list and knows merge keys; undefined where one of these can't be ruled out.
 */
function quicklyParsed(text: string): unknown {
  // Documents, directives, explicit keys, anchors, aliases, tags and maps in braces: several keys on a line, or none where one counts.
  if (/^(?:---|\.\.\.|%)|<<|(?:^|[:-]\s)[ \t]*(?:[&*!?]|\{(?!\s*\}))/m.test(text)) return undefined;
  // Lists that are keys, and line ends that only one of both knows.
  if (/^[ \t]*\[|\r(?!\n)/m.test(text)) return undefined;
  const value: unknown = Bun.YAML.parse(text);
  const keys: string[] = [];
  if (!collectKeys(value, keys) || keys.includes("null")) return undefined;
  return mostKeysWritten(text, new Set(keys)) === keys.length ? value : undefined;
}

/** Adds the keys of all maps; false when one stands in a list, where several keys may share a line. */
function collectKeys(value: unknown, keys: string[]): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item !== "object" || item === null);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inner]) => {
    keys.push(key);
    return collectKeys(inner, keys);
  });
}

/** How many keys the text can hold at most, one on a line: prose that looks like a key but was `read` as none is not counted. */
function mostKeysWritten(text: string, read: ReadonlySet<string>): number {
  let count = 0;
  for (const line of text.split(/[\r\n]/)) {
    const colon = line.search(/:(?:\s|$)/);
    const key = line.slice(0, colon).trim();
    if (colon < 0 || key.startsWith("#")) continue;
    // Begun by a letter, without quotes and none of YAML's words, a key is read as it is written.
    const isProse = /^\p{L}[^"'\\:#]*$/u.test(key) && !/^(?:null|true|false)$/i.test(key) && !read.has(key);
    if (!isProse) count++;
  }
  return count;
}

async function strictlyParsed(text: string, path: string): Promise<unknown> {
  return heldBy(await indexYmlDocument(text, path), path);
}

/** What a document holds. */
export function heldBy(document: Document, path: string): JsonObject {
  try {
    return (document.toJS() ?? {}) as JsonObject;
  } catch (error) {
    // Aliases of aliases that would unfold to more than memory holds.
    throw yamlError(path, { message: messageOf(error) });
  }
}

/** The text of `index.yml` as a document that keeps its comments; throws `CONFIG_SYNTAX` for what can't be read in full. */
export async function indexYmlDocument(text: string, path: string): Promise<Document> {
  const yaml = await import("yaml");
  const lines = new yaml.LineCounter();
  const document = parsedDocument(yaml, text, lines);
  const problem = document.errors[0];
  if (problem !== undefined) throw yamlError(path, problem);
  // `pattern: **/*.md` without quotes is an alias to nowhere, which only shows when it is followed.
  yaml.visit(document, (_key, node) => {
    if (!yaml.isAlias(node) || node.resolve(document) !== undefined) return;
    const message = `*${node.source} refers to no anchor; a pattern that begins with * needs quotes`;
    throw yamlError(path, { message, linePos: [lines.linePos(node.range?.[0] ?? 0)] });
  });
  const { contents } = document;
  if (yaml.isScalar(contents) && contents.value === null) document.contents = null;
  else if (contents !== null && !yaml.isMap(contents)) throw notAMap(path);
  return document;
}

/** A document with its errors. The parser itself would compare each key with all others of its map: minutes for thousands of them. */
export function parsedDocument(
  { isScalar, parseDocument, visit, YAMLParseError }: typeof import("yaml"),
  text: string,
  lineCounter: LineCounter,
): Document {
  const document = parseDocument(text, { lineCounter, uniqueKeys: false });
  if (document.errors.length > 0) return document;
  visit(document, {
    Map(_key, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          const [from, to] = key.range ?? [0, 0];
          const error = new YAMLParseError([from, to], "DUPLICATE_KEY", "Map keys must be unique");
          document.errors.push(Object.assign(error, { linePos: [lineCounter.linePos(from)] }));
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return document;
}

function notAMap(path: string): MemqError {
  return new MemqError("CONFIG_SYNTAX", `The configuration file ${path} must hold a map of settings.`, {
    hint: 'Begin it with "collections:".',
  });
}

/** The error for a problem that the `yaml` package found in `path`. */
function yamlError(
  path: string,
  problem: { message: string; linePos?: readonly { line: number; col: number }[] | undefined },
): MemqError {
  const at = problem.linePos?.[0];
  const place = at === undefined ? "" : ` at line ${at.line}, column ${at.col}`;
  const reason = (problem.message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "").replace(/[.:]$/, "");
  return new MemqError("CONFIG_SYNTAX", `The configuration file ${path} is not valid YAML${place}: ${reason}.`, {
    hint: "Correct that place and try again; values with special characters need quotes.",
  });
}

const EDITOR_KEYS = ["editor_uri", "editor_uri_template", "editorUri", "editor-uri"];
const MODEL_KEYS = ["embed", "rerank", "generate"] as const;
const COLLECTION_KEYS = ["path", "pattern", "ignore", "context", "update", "includeByDefault"];

function qmdConfig(data: JsonObject, file: string): QmdConfig {
  const [globalContext, editorUri] = [textOf(data, ["global_context"], file), editorUriOf(data, file)];
  const collections = mapOf(data, ["collections"], "a map of names", file);
  const read = Object.entries(collections).map(([name, value]) => collectionOf(name, value, file));
  let hash: string | undefined;
  return {
    ...(globalContext === undefined ? {} : { globalContext }),
    ...(editorUri === undefined ? {} : { editorUri }),
    models: modelsOf(data, file),
    collections: read,
    // Asked for where an index is written, and not by a search.
    get hash() {
      return (hash ??= hashOf(data));
    },
    issues: [
      ...misspelt(data, "", ["global_context", ...EDITOR_KEYS, "models", "collections"], file),
      ...misspelt(data["models"] ?? {}, "models.", MODEL_KEYS, file),
      ...Object.entries(collections).flatMap(([name, value]) =>
        misspelt(value, `collections.${name}.`, COLLECTION_KEYS, file),
      ),
      ...read.flatMap(({ name }) => merged(name, collections[name] ?? {}, file)),
      ...read.flatMap(({ name, ignore }) => ignore.filter(isExclusion).map((rule) => negated(name, rule, file))),
    ],
  };
}

function hashOf(data: JsonObject): string {
  return sha256(JSON.stringify(data));
}

/** Git takes up again what such a rule matches; here, as in qmd, it leaves it out. */
function negated(name: string, rule: string, file: string): string {
  const plain = rule.slice(1);
  return `collections.${name}.ignore in ${file}: "${rule}" leaves out the same as "${plain}"; what belongs to a collection stands in its pattern.`;
}

/** YAML 1.2 has no merge keys: an ignore list that was thought to be taken over would be taken for none. */
function merged(name: string, value: JsonValue, file: string): string[] {
  if (!isObject(value) || !Object.hasOwn(value, "<<")) return [];
  return [`collections.${name}.<< in ${file} is not read: YAML 1.2 has no merge keys; write the keys out.`];
}

/** A sentence for each key of a map that is not known but near one that is. */
function misspelt(map: JsonValue, prefix: string, known: readonly string[], file: string): string[] {
  return Object.keys(isObject(map) ? map : {}).flatMap((key) => {
    if (known.includes(key)) return [];
    const near = nearestName(key, known);
    return near === undefined ? [] : [`${prefix}${key} in ${file} is not known: did you mean ${near}?`];
  });
}

function modelsOf(data: JsonObject, file: string): QmdModels {
  mapOf(data, ["models"], "a map of embed, rerank and generate", file);
  const models: QmdModels = {};
  for (const slot of MODEL_KEYS) {
    const uri = textOf(data, ["models", slot], file);
    if (uri !== undefined) models[slot] = uri;
  }
  return models;
}

function editorUriOf(data: JsonObject, file: string): string | undefined {
  return EDITOR_KEYS.map((key) => textOf(data, [key], file)?.trim()).find((uri) => uri !== undefined);
}

function collectionOf(name: string, value: JsonValue, file: string): QmdCollectionConfig {
  const label = `collections.${name}`;
  if (name === "") throw namelessCollection(file);
  if (!isObject(value)) throw wrongType(label, "a map with a path", value, file);
  const text = (key: string): string | undefined => textOf(value, [key], file, `${label}.`);
  // As it stands: a folder's name may begin or end with a blank.
  const path = text("path");
  if (path === undefined) throw wrongType(`${label}.path`, "a text", value["path"] ?? null, file);
  const update = text("update");
  const includeByDefault = value["includeByDefault"] ?? true;
  // YAML reads a bare `no` as a text: taken for "yes", it would show what is to stay out.
  if (typeof includeByDefault !== "boolean")
    throw wrongType(`${label}.includeByDefault`, "true or false", includeByDefault, file);
  const context = mapOf(value, ["context"], "a map of folders to texts", file, `${label}.`);
  return {
    name,
    path,
    // A list taken for nothing would index every Markdown file.
    pattern: text("pattern") ?? DEFAULT_PATTERN,
    ignore: ignoreOf(value["ignore"], `${label}.ignore`, file),
    context: Object.fromEntries(
      Object.keys(context).map((folder) => [folder, textOf(context, [folder], file, `${label}.context.`) ?? ""]),
    ),
    ...(update === undefined ? {} : { update }),
    includeByDefault,
  };
}

function namelessCollection(file: string): MemqError {
  return new MemqError("CONFIG_TYPE", `A collection in ${file} has no name: its key is empty, null or ~.`, {
    hint: 'Put a name in quotes that YAML reads as nothing: "null".',
  });
}

/** A text that is not blank, as it stands: approvals and hashes are over the exact text. */
function textOf(root: JsonObject, path: string[], file: string, prefix = ""): string | undefined {
  const value = valueAt(root, path) ?? undefined;
  if (value !== undefined && typeof value !== "string")
    throw wrongType(`${prefix}${path.join(".")}`, "a text", value, file);
  return value === undefined || value.trim() === "" ? undefined : value;
}

function mapOf(root: JsonObject, path: string[], expected: string, file: string, prefix = ""): JsonObject {
  const value = valueAt(root, path) ?? {};
  if (!isObject(value)) throw wrongType(`${prefix}${path.join(".")}`, expected, value, file);
  return value;
}

function ignoreOf(value: JsonValue | undefined, path: string, file: string): string[] {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return value;
  throw wrongType(path, "a list of patterns", value, file);
}

/** What qmd keeps of a configuration in its index: rows of `store_collections`, and two keys of `store_config`. */
export function storeRows(config: QmdConfig): {
  collections: StoredCollection[];
  configHash: string;
  globalContext: string | null;
} {
  return {
    collections: config.collections.map((collection) => ({
      name: collection.name,
      path: collection.path,
      pattern: collection.pattern,
      ignore: collection.ignore.length === 0 ? null : collection.ignore,
      includeByDefault: collection.includeByDefault,
      updateCommand: collection.update ?? null,
      context: Object.keys(collection.context).length === 0 ? null : collection.context,
    })),
    configHash: config.hash,
    globalContext: config.globalContext ?? null,
  };
}
