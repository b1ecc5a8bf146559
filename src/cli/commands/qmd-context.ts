import { relative } from "node:path";
import { MemqError } from "../../errors.ts";
import { removeContext, setContext, setGlobalContext } from "../../home/index-yml-edit.ts";
import { absolutePath, isInside, realPath } from "../../home/paths.ts";
import { listedContexts } from "../../home/qmd-contexts.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { writeOut } from "../../output.ts";
import { printableText } from "../../printable.ts";
import type { Invocation } from "../parse.ts";
import type { Program } from "../../version.ts";
import { qmdHomeOf, shellFolder } from "../qmd/home.ts";
import { collectionNotFound } from "../qmd/words.ts";

/** What a context describes: everything (collection null), or a path prefix of a collection, "" for all of it. */
type Place = { collection: string | null; prefix: string };

/** `context` alone, or a sub-command that there is not. */
export function group({ words, program }: Invocation): void {
  if (words[0] === "help") return writeOut(`${usage(program)}\n`);
  if (words.length === 0) throw new MemqError("USAGE", usage(program));
  throw new MemqError("USAGE", `Unknown subcommand: ${words[0]}`, { hint: "Available: add, list, rm" });
}

function usage(program: Program): string {
  return [
    `Usage: ${program} context <add|list|rm>`,
    "",
    "Commands:",
    `  ${program} context add [path] "text"  - Describe a folder (the current one unless named)`,
    `  ${program} context add / "text"       - Describe everything`,
    `  ${program} context list               - List all contexts`,
    `  ${program} context rm <path>          - Remove a context`,
  ].join("\n");
}

/** `context add [PATH] TEXT`. */
export async function add(invocation: Invocation): Promise<void> {
  const { words, program } = invocation;
  const [path, ...rest] = words.length > 1 ? words : [".", ...words];
  const text = rest.join(" ").trim();
  if (text === "") {
    throw new MemqError("USAGE", `Usage: ${program} context add [path] "text"`, {
      hint: "  path: /, ., a folder, or qmd://collection/folder (the current folder unless named)",
    });
  }
  const qmd = await qmdHomeOf(invocation);
  const place = placeOf(path ?? ".", qmd, program);
  if (place.collection === null) await setGlobalContext(qmd.places.configPath, text);
  else await setContext(qmd.places.configPath, place.collection, place.prefix, text);
  writeOut(`✓ ${place.collection === null ? "Set global context" : `Added context for: ${placeName(place)}`}\n`);
  writeOut(`Context: ${text}\n`);
}

/** `context list`. */
export async function list(invocation: Invocation): Promise<void> {
  const contexts = listedContexts((await qmdHomeOf(invocation)).config);
  if (contexts.length === 0) {
    return writeOut(`No contexts configured. Use '${invocation.program} context add' to add one.\n`);
  }
  const lines = ["", "Configured Contexts", ""];
  let last: string | null | undefined;
  for (const { collection, prefix, text } of contexts) {
    if (collection !== last) lines.push(collection ?? "*");
    last = collection;
    lines.push(`  ${collection !== null && prefix === "" ? "/ (root)" : prefix}`, `    ${text}`);
  }
  writeOut(`${lines.map(printableText).join("\n")}\n`);
}

/** `context rm PATH`. */
export async function remove(invocation: Invocation): Promise<void> {
  const { words, program } = invocation;
  const path = words[0];
  if (path === undefined) {
    throw new MemqError("USAGE", `Usage: ${program} context rm <path>`, {
      hint: `  Use '${program} context list' to see contexts`,
    });
  }
  const qmd = await qmdHomeOf(invocation);
  const place = placeOf(path, qmd, program);
  if (!(await removeContext(qmd.places.configPath, place.collection, place.prefix))) {
    throw new MemqError("CONTEXT_NOT_FOUND", `No context found for: ${placeName(place)}`, {
      hint: `Use '${program} context list' to see contexts`,
    });
  }
  writeOut(`✓ Removed ${place.collection === null ? "global context" : `context for: ${placeName(place)}`}\n`);
}

function placeName({ collection, prefix }: Place): string {
  return collection === null ? "/" : `qmd://${collection}/${prefix}`;
}

/** What a path on the command line means: `/`, a document prefix, or a folder in a collection. */
function placeOf(given: string, qmd: QmdHome, program: Program): Place {
  if (given === "/") return { collection: null, prefix: "" };
  const virtual = /^(?:qmd:\/*|\/\/)([^/]+)\/?(.*)$/s.exec(given);
  if (virtual !== null) {
    const [, collection = "", prefix = ""] = virtual;
    if (qmd.config.collections.some(({ name }) => name === collection)) return { collection, prefix };
    throw collectionNotFound(collection, program);
  }
  const path = /^\.\/?$/.test(given) ? shellFolder() : absolutePath(given, shellFolder(), process.env);
  const places = qmd.home.collections.flatMap(({ name, root }) =>
    [...new Set([path, realPath(path)])].flatMap((way) =>
      [root, realPath(root)].flatMap((top) =>
        isInside(way, top) ? [{ collection: name, prefix: relative(top, way), depth: top.length }] : [],
      ),
    ),
  );
  const [deepest] = places.sort((a, b) => b.depth - a.depth);
  if (deepest !== undefined) return { collection: deepest.collection, prefix: deepest.prefix };
  throw new MemqError("CONTEXT_PATH", `Path is not in any indexed collection: ${path}`, {
    hint: `Run '${program} collection list' to see available collections; '/' stands for everything.`,
  });
}
