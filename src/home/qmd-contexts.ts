import type { QmdConfig } from "./index-yml.ts";
import { stripped } from "./stripped.ts";

/** A context as `context list` shows it; collection null is the global one. */
export type ContextEntry = { collection: string | null; prefix: string; text: string };

/** Every context: the global one, then each collection's in the order of the file. */
export function listedContexts(config: QmdConfig): ContextEntry[] {
  const global =
    config.globalContext === undefined ? [] : [{ collection: null, prefix: "/", text: config.globalContext }];
  return [
    ...global,
    ...config.collections.flatMap(({ name, context }) =>
      Object.entries(context).map(([prefix, text]) => ({ collection: name, prefix, text })),
    ),
  ];
}

/**
 * What is said about a document: the global context, then those of every prefix of its path from the widest to the
 * narrowest, with a blank line between; undefined when nothing is. Prefixes match at a path boundary.
 */
export function contextOf(config: QmdConfig, collection: string, path: string): string | undefined {
  const context = config.collections.find(({ name }) => name === collection)?.context ?? {};
  const matching = Object.entries(context)
    .map(([prefix, text]) => ({ prefix: stripped(prefix, "/"), text }))
    .filter(({ prefix }) => prefix === "" || path === prefix || path.startsWith(`${prefix}/`))
    .sort((a, b) => a.prefix.length - b.prefix.length)
    .map(({ text }) => text)
    .filter((text) => text !== "");
  const texts = [...(config.globalContext === undefined ? [] : [config.globalContext]), ...matching];
  return texts.length === 0 ? undefined : texts.join("\n\n");
}
