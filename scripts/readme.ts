// Writes the README's references of commands, methods and configuration keys from their tables: bun scripts/readme.ts [--check]
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shownOptions, usageLine, optionUsage } from "../src/cli/help.ts";
import { COMMANDS } from "../src/cli/table.ts";
import { methodReference } from "../src/gateway/method-reference.ts";
import { keyReference } from "../src/home/key-reference.ts";

const path = join(import.meta.dir, "../README.md");

/** The README with its references made anew. */
export function readmeWithReferences(readme: string): string {
  const references = { commands: commandReference(), methods: methodReference(), keys: keyReference() };
  return Object.entries(references).reduce((text, [name, body]) => replaced(text, name, body), readme);
}

function replaced(readme: string, name: string, body: string): string {
  const [begin, end] = [`<!-- ${name}: made by scripts/readme.ts -->`, `<!-- /${name} -->`];
  const [from, to] = [readme.indexOf(begin), readme.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`README.md has no place for the reference of ${name}`);
  return `${readme.slice(0, from + begin.length)}\n\n${body.trim()}\n\n${readme.slice(to)}`;
}

function commandReference(): string {
  return COMMANDS.map((command) => {
    const options = shownOptions(command).filter(([name]) => name !== "help");
    const rows = options.map(([name, option]) => `| \`${optionUsage(name, option)}\` | ${cell(option.description)} |`);
    const table = rows.length === 0 ? [] : ["", "| option | |", "|---|---|", ...rows];
    return [`#### \`${usageLine(command, "memq")}\``, "", `${command.summary}.`, ...table].join("\n");
  }).join("\n\n");
}

function cell(text: string): string {
  return text.replaceAll("|", String.raw`\|`);
}

if (import.meta.main) {
  const readme = readFileSync(path, "utf8");
  const made = readmeWithReferences(readme);
  if (!process.argv.includes("--check")) writeFileSync(path, made);
  else if (made !== readme) {
    process.stderr.write("README.md is not what the tables say. Run 'bun scripts/readme.ts'.\n");
    process.exit(1);
  }
}
