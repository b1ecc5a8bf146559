import type { Option } from "./options.ts";
import { optionsOf } from "./options.ts";
import { VERSION } from "../version.ts";
import type { Program } from "../version.ts";
import { usageOf } from "./parse.ts";
import type { Command } from "./table.ts";
import { COMMANDS, commandsBelow, findCommand } from "./table.ts";

/** Help for what the words name: a command, a group of commands, or the whole program. */
export function helpText(words: readonly string[], program: Program): string {
  const found = findCommand(words);
  if (found !== null && !isGroup(found.command)) return commandHelp(found.command, program);
  const group = words.length > 0 ? commandsBelow(words.slice(0, 1)) : [];
  return group.length > 0 ? groupHelp(group, `${program} ${words[0]}`) : programHelp(program);
}

/** The line that shows how a command is called. */
export function usageLine(command: Command, program: Program): string {
  return `${program} ${usageOf(command)}${command.options.length > 0 ? " [options]" : ""}`;
}

/** The options that a command's help shows, by name. */
export function shownOptions(command: Command): [name: string, option: Option][] {
  const table = optionsOf(command.surface);
  return [...command.options, "help" as const].flatMap((name) => {
    const option = table[name];
    return option === undefined ? [] : [[name, option] as [string, Option]];
  });
}

/** `-c, --collection NAME`; an option whose long name is one letter is written with one dash. */
export function optionUsage(name: string, { short, value }: Option): string {
  const names = name.length === 1 ? `-${name}` : short === undefined ? `--${name}` : `-${short}, --${name}`;
  return value === undefined ? names : `${names} ${value}`;
}

function commandHelp(command: Command, program: Program): string {
  const aliases = command.aliases === undefined ? [] : ["", `Also called: ${command.aliases.join(", ")}`];
  const details = command.details === undefined ? [] : ["", command.details];
  const below = commandsBelow(command.path);
  const commands =
    below.length === 0 ? [] : ["", "Commands:", ...columns(below.map((one) => [usageOf(one), one.summary]))];
  return lines(
    command.summary,
    "",
    `Usage: ${usageLine(command, program)}`,
    ...aliases,
    ...details,
    ...commands,
    "",
    "Options:",
    ...columns(shownOptions(command).map(([name, option]) => [optionUsage(name, option), option.description])),
  );
}

function groupHelp(group: readonly Command[], name: string): string {
  return lines(
    `Usage: ${name} <command> [options]`,
    "",
    "Commands:",
    ...columns(group.map((command) => [usageOf(command), command.summary])),
    "",
    `Run '${name} <command> --help' for the options of a command.`,
  );
}

function programHelp(program: Program): string {
  const qmd = COMMANDS.filter(({ surface }) => surface === "qmd");
  const shown = new Map(qmd.flatMap((command) => shownOptions(command)));
  const options: [string, string][] = [
    ...[...shown].map(([name, option]): [string, string] => [optionUsage(name, option), option.description]),
    ["-v, --version", "Show the version"],
  ];
  const title = program === "qmd" ? "qmd: search your notes" : `memq ${VERSION}: a memory engine for AI agents`;
  const list = (ofNotes: boolean): string[] =>
    columns(
      COMMANDS.filter((one) => (one.surface === "qmd") === ofNotes && !isGroup(one)).map((command) => [
        usageOf(command),
        command.summary,
      ]),
    );
  return lines(
    title,
    "",
    `Usage: ${program} <command> [options]`,
    ...(qmd.length > 0 ? ["", "Notes:", ...list(true)] : []),
    "",
    "An agent's memory, servers and set-up:",
    ...list(false),
    "",
    qmd.length > 0 ? "Options of the commands on notes:" : "Options:",
    ...columns(options),
    "",
    `Run '${program} <command> --help' for the options of a command.`,
  );
}

/** Whether the command only stands for those below it, which are listed themselves. */
function isGroup(command: Command): boolean {
  return command.arguments === "COMMAND";
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(34, Math.max(0, ...rows.map(([left]) => left.length)));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function lines(...all: string[]): string {
  return `${all.join("\n")}\n`;
}
