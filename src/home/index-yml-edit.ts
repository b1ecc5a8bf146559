import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import type { Alias, Document, Node, YAMLMap } from "yaml";
import { configText } from "./read-text.ts";
import { hintOf, MemqError, reasonOf } from "../errors.ts";
import { withWriterLock } from "../store/lock.ts";
import { splicedYml } from "./index-yml-splice.ts";
import { DEFAULT_PATTERN, heldBy, indexYmlDocument } from "./index-yml.ts";
import { linkedFile } from "./paths.ts";
import { replaceFile } from "./replace-file.ts";

/**
 * Changes `index.yml` in place: comments, order and unknown keys stay. `edit` returns false when nothing is to change;
 * then, and when the text stays the same, the file is left alone. Two processes change it one after the other. It is
 * replaced atomically, through a symbolic link if it is one; a file made here is readable by its owner only. `alongside` makes the
 * change in the index that belongs to this one: it runs last but for the file taking its name, and without it the file stays as it was.
 * Who needs the index's writer lock for that holds it already: it is always taken before the lock of `index.yml`.
 */
async function editIndexYml(
  path: string,
  edit: (document: Document) => boolean,
  alongside?: () => void,
): Promise<boolean> {
  const file = linkedFile(path);
  try {
    return await withWriterLock(file, () => editLocked(file, edit, alongside), { timeoutMs: 10_000 });
  } catch (error) {
    if (error instanceof MemqError || isOfIndex(error)) throw error;
    throw new MemqError("CONFIG_UNWRITABLE", `The configuration file ${path} can't be written: ${reasonOf(error)}.`, {
      hint: hintOf(error) ?? "Check the permissions of the file and its folder.",
      cause: error,
    });
  }
}

/** Whether SQLite says it, and so the file is not what could not be written. */
function isOfIndex(error: unknown): boolean {
  return ((error as { code?: string } | null)?.code ?? "").startsWith("SQLITE_");
}

async function editLocked(
  path: string,
  edit: (document: Document) => boolean,
  alongside: (() => void) | undefined,
): Promise<boolean> {
  const before = configText(path);
  if (before?.includes("\uFFFD") === true) refuseOtherEncoding(path);
  const mark = before?.startsWith("\uFEFF") === true ? "\uFEFF" : "";
  const held = before?.slice(mark.length) ?? "";
  const text = await editedText(held, path, edit);
  if (text === null) return false;
  const after = mark + withLineEndsOf(held, text);
  if (after === before) return false;
  await replaceFile(path, after, alongside);
  return true;
}

/** `text` with the lines that it begins and ends with as they stand in `before`, and CR LF behind others where that is found there. */
function withLineEndsOf(before: string, text: string): string {
  if (!before.includes("\r\n")) return text;
  const [old, lines] = [before.split(/(?<=\n)/), text.split(/(?<=\n)/)];
  const most = Math.min(old.length, lines.length);
  const stays = (at: number): boolean => old.at(at)?.replace("\r\n", "\n") === lines.at(at);
  let [above, below] = [0, 0];
  while (above < most && stays(above)) above++;
  while (below < most - above && stays(-1 - below)) below++;
  const fresh = lines.slice(above, lines.length - below).map((line) => line.replace("\n", "\r\n"));
  return [...old.slice(0, above), ...fresh, ...old.slice(old.length - below)].join("");
}

/** The text after the edit, with line feeds alone; null when there is nothing to change. */
async function editedText(before: string, path: string, edit: (document: Document) => boolean): Promise<string | null> {
  const text = before.replaceAll("\r\n", "\n");
  const document = await indexYmlDocument(text, path);
  const edited = document.clone();
  const held = heldBy(document, path);
  const yaml = await import("yaml");
  unfoldAliases(yaml, edited);
  if (!edit(edited)) return null;
  const spliced = splicedYml(yaml, { text, document, before: held, after: heldBy(edited, path) });
  return spliced ?? edited.toString({ indent: 2, lineWidth: 0 });
}

/** A change belongs to the key that it names and to no other one: what is shared by an anchor is written out for each. */
function unfoldAliases(yaml: typeof import("yaml"), document: Document): void {
  const copyOf = (alias: Alias): Node => {
    const copy = (alias.resolve(document) as Node).clone() as Node;
    yaml.visit(copy, { Alias: (_key, inner) => copyOf(inner) });
    return copy;
  };
  yaml.visit(document, { Alias: (_key, alias) => copyOf(alias) });
  yaml.visit(document, { Node: (_key, node) => void ("anchor" in node && delete node.anchor) });
}

/** Characters that could not be read would be lost for good. */
function refuseOtherEncoding(path: string): void {
  if (isUtf8(readFileSync(path))) return;
  throw new MemqError("CONFIG_SYNTAX", `The configuration file ${path} is not UTF-8, and is not changed.`, {
    hint: "Save it as UTF-8 first.",
  });
}

/** The map at `path`, made when it is missing or empty; an empty `{}` becomes a block, so that it grows readably. */
function mapAt(document: Document, path: string[]): YAMLMap {
  const node = document.getIn(path) as YAMLMap | undefined;
  if (node !== undefined && node !== null && typeof node.set === "function") {
    if (node.items.length === 0) node.flow = false;
    return node;
  }
  document.setIn(path, document.createNode({}));
  return document.getIn(path) as YAMLMap;
}

/** The key of a map as the document holds it: names such as `123` are numbers there. */
function keyIn(map: YAMLMap | undefined, name: string): unknown {
  const pair = map?.items?.find((item) => String(scalarOf(item.key)) === name);
  return pair === undefined ? undefined : scalarOf(pair.key);
}

function scalarOf(key: unknown): string | number | boolean {
  const value = typeof key === "object" && key !== null && "value" in key ? key.value : key;
  return typeof value === "number" || typeof value === "boolean" ? value : typeof value === "string" ? value : "";
}

function collectionMap(document: Document, name: string): YAMLMap | null {
  const collections = document.get("collections") as YAMLMap | undefined;
  const key = keyIn(collections, name);
  return key === undefined ? null : mapAt(document, ["collections", key as string]);
}

function collectionMissing(name: string): MemqError {
  return new MemqError("COLLECTION_MISSING", `Collection not found: ${name}`, {
    hint: "Run 'qmd collection list' to see available collections.",
  });
}

/** Makes an `index.yml` without collections, as for a project's own home; false when there is one already. */
export function createIndexYml(file: string): Promise<boolean> {
  return editIndexYml(file, (document) => {
    if (document.contents !== null) return false;
    document.set("collections", document.createNode({}));
    return true;
  });
}

/** A collection as `collection add` writes it. */
export type NewCollection = { name: string; path: string; pattern?: string };

/**
 * Adds a collection. True when it was added, false when the very same one is there already; the same name with another
 * path or pattern throws `COLLECTION_EXISTS`.
 */
export async function addCollection(file: string, added: NewCollection): Promise<boolean> {
  const pattern = added.pattern ?? DEFAULT_PATTERN;
  return editIndexYml(file, (document) => {
    const existing = collectionMap(document, added.name);
    if (existing === null) {
      mapAt(document, ["collections"]).set(added.name, document.createNode({ path: added.path, pattern }));
      return true;
    }
    if (existing.get("path") === added.path && (existing.get("pattern") ?? DEFAULT_PATTERN) === pattern) return false;
    throw new MemqError("COLLECTION_EXISTS", `Collection '${added.name}' already exists.`, {
      hint: "Use a different name with --name <name>",
    });
  });
}

/** Gives a collection this path and pattern, whether it is there already or not; everything else of it stays. */
export async function bindCollection(file: string, { name, path, pattern }: Required<NewCollection>): Promise<void> {
  await editIndexYml(file, (document) => {
    const collection = collectionMap(document, name);
    if (collection === null) mapAt(document, ["collections"]).set(name, document.createNode({ path, pattern }));
    else for (const [key, value] of Object.entries({ path, pattern })) collection.set(key, value);
    return true;
  });
}

/** Removes a collection, with what is done `alongside` in the index; throws `COLLECTION_MISSING`. */
export async function removeCollection(file: string, name: string, alongside?: () => void): Promise<void> {
  const edit = (document: Document): boolean => {
    const collections = document.get("collections") as YAMLMap | undefined;
    if (collections?.delete(keyIn(collections, name)) !== true) throw collectionMissing(name);
    return true;
  };
  await editIndexYml(file, edit, alongside);
}

/**
 * Renames a collection where it stands, with what is done `alongside` in the index; throws `COLLECTION_MISSING`, or `COLLECTION_EXISTS`
 * when the new name is taken.
 */
export async function renameCollection(file: string, from: string, to: string, alongside?: () => void): Promise<void> {
  const edit = (document: Document): boolean => {
    const collections = document.get("collections") as YAMLMap | undefined;
    const pair = collections?.items?.find((item) => String(scalarOf(item.key)) === from);
    if (pair === undefined) throw collectionMissing(from);
    if (from === to) return false;
    if (keyIn(collections, to) !== undefined) {
      throw new MemqError("COLLECTION_EXISTS", `Collection name already exists: ${to}`, {
        hint: "Choose another name.",
      });
    }
    const key = pair.key;
    if (typeof key === "object" && key !== null && "value" in key) Object.assign(key, { value: to, source: undefined });
    else pair.key = document.createNode(to);
    return true;
  };
  await editIndexYml(file, edit, alongside);
}

/** Whether searches that name no collection search this one; only `false` is ever written. */
export async function setIncludedByDefault(file: string, name: string, included: boolean): Promise<void> {
  await editIndexYml(file, (document) => {
    const collection = collectionMap(document, name);
    if (collection === null) throw collectionMissing(name);
    if (included) return collection.delete("includeByDefault");
    collection.set("includeByDefault", false);
    return true;
  });
}

/** Sets or, with null, clears the command that runs before a collection is updated. */
export async function setUpdateCommand(file: string, name: string, command: string | null): Promise<void> {
  await editIndexYml(file, (document) => {
    const collection = collectionMap(document, name);
    if (collection === null) throw collectionMissing(name);
    if (command === null) return collection.delete("update");
    collection.set("update", command);
    return true;
  });
}

/** Sets the text that describes everything: `global_context`. */
export async function setGlobalContext(file: string, text: string): Promise<void> {
  await editIndexYml(file, (document) => {
    document.set("global_context", text);
    return true;
  });
}

/** Sets the text that describes a path prefix of a collection (`""`: all of it). */
export async function setContext(file: string, name: string, prefix: string, text: string): Promise<void> {
  await editIndexYml(file, (document) => {
    const collection = collectionMap(document, name);
    if (collection === null) throw collectionMissing(name);
    const key = keyIn(collection, "context");
    const context = key === undefined ? null : collection.get("context");
    if (context === null || typeof context !== "object")
      collection.set("context", document.createNode({ [prefix]: text }));
    else (context as YAMLMap).set(keyIn(context as YAMLMap, prefix) ?? prefix, text);
    return true;
  });
}

/** Removes the global context (collection null) or that of a prefix; false when there was none. */
export async function removeContext(file: string, name: string | null, prefix: string): Promise<boolean> {
  return editIndexYml(file, (document) => {
    if (name === null) return document.has("global_context") && document.delete("global_context");
    const collection = collectionMap(document, name);
    if (collection === null) throw collectionMissing(name);
    const context = collection.get("context") as YAMLMap | undefined;
    const wanted = [
      prefix,
      ...(["", "/"].includes(prefix) ? ["", "/"] : [`/${prefix.replace(/^\//, "")}`, prefix.replace(/^\//, "")]),
    ];
    const key = wanted.map((form) => keyIn(context, form)).find((form) => form !== undefined);
    if (context === undefined || key === undefined || !context.delete(key)) return false;
    if (context.items.length === 0) collection.delete("context");
    return true;
  });
}
