/* Adds a table to a TOML text, or changes two keys of one, and leaves every other character as it was. */
import type { JsonObject } from "../json.ts";
import { isObject } from "../json.ts";

/** How a client starts a server. */
export type ServerCommand = { command: string; args: string[] };

/**
 * The text with `[group.name]` saying how to start a server. A table that exists keeps its other keys. Null when the table is
 * spelled in a way that can't be changed line by line; the text must parse.
 */
export function withServerTable(
  text: string,
  group: string,
  name: string,
  { command, args }: ServerCommand,
): string | null {
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = [`command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`];
  const header = new RegExp(
    `^[ \\t]*\\[[ \\t]*${group}[ \\t]*\\.[ \\t]*"?${RegExp.escape(name)}"?[ \\t]*\\][^\\n]*\\n?`,
    "m",
  );
  const found = header.exec(text);
  let after: string;
  if (found === null) {
    const gap = text.trim() === "" ? "" : text.endsWith("\n") ? end : end + end;
    after = `${text}${gap}[${group}.${name}]${end}${lines.join(end)}${end}`;
  } else {
    const from = found.index + found[0].length;
    const next = /^[ \t]*\[/m.exec(text.slice(from));
    const to = next === null ? text.length : from + next.index;
    const kept = text
      .slice(from, to)
      .split(/(?<=\n)/)
      .filter((line) => !/^[ \t]*(command|args)[ \t]*=/.test(line));
    after = `${text.slice(0, from)}${lines.join(end)}${end}${kept.join("")}${text.slice(to)}`;
  }
  return saysSo(text, after, group, name, { command, args }) ? after : null;
}

function saysSo(before: string, after: string, group: string, name: string, server: ServerCommand): boolean {
  try {
    const data = Bun.TOML.parse(before) as JsonObject;
    const servers = isObject(data[group]) ? data[group] : {};
    const own = isObject(servers[name]) ? servers[name] : {};
    const meant = { ...data, [group]: { ...servers, [name]: { ...own, ...server } } };
    return Bun.deepEquals(Bun.TOML.parse(after), meant);
  } catch {
    return false;
  }
}
