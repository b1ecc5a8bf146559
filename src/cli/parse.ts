import { MemqError, usageError } from "../errors.ts";
import { nearestName } from "../edit-distance.ts";
import type { Program } from "../version.ts";
import type { NumberRange, Option, OptionName } from "./options.ts";
import { checkValue } from "./option-values.ts";
import { optionsOf } from "./options.ts";
import { doctorHint } from "./qmd/words.ts";
import type { Command } from "./table.ts";
import { COMMANDS, commandsBelow, findCommand } from "./table.ts";

/** What a command works from. */
export type Invocation = {
  program: Program;
  command: Command;
  /** The words after those that name the command. */
  words: string[];
  /** Per long option name, the values in the order given; an option without a value has an empty one. */
  options: ReadonlyMap<string, string[]>;
};

/** What argv asks for. */
export type Request =
  | { kind: "version" }
  | { kind: "help"; words: string[]; asked: boolean }
  | { kind: "run"; invocation: Invocation };

type Token = { word: string; option: string | null; value: string | undefined; index: number };

/**
 * Reads argv once, from the table of commands. Words that can't be options (with a blank in them, or a dash before anything but
 * a letter) are set aside first, so a raw query may begin with a dash; `--name=a value` with a known option is the one
 * exception, since that is how a shell hands on a quoted value. After `--` everything is a word.
 * Throws a usage error (exit 2) for an option that the command doesn't have, and for one of memq's that is given two values and
 * takes one.
 */
export function readArgv(argv: readonly string[], program: Program): Request {
  // `--index` takes a name with qmd and none with memory: the command's words decide, and with them the meaning of options.
  const guess = wordsOf(readTokens(argv, optionsOf("both")));
  const surface = findCommand(guess)?.command.surface ?? commandsBelow(guess.slice(0, 1))[0]?.surface ?? "qmd";
  const tokens = readTokens(argv, optionsOf(surface));
  const options = new Map<string, string[]>();
  for (const { option, value } of tokens) {
    if (option !== null) options.set(option, [...(options.get(option) ?? []), value ?? ""]);
  }
  const written = wordsOf(tokens);
  const words = written.length === 0 && options.has("skill") ? ["skill", "show"] : written;
  if (asksFor("version", tokens)) return { kind: "version" };
  if (asksFor("help", tokens)) return { kind: "help", words, asked: true };
  if (words[0] === "help") return { kind: "help", words: words.slice(1), asked: true };

  const found = findCommand(words);
  const isGroup = words.length === 1 && commandsBelow(words).length > 0;
  if ((found === null && words.length > 0 && !isGroup) || misspeltBelow(found, words)) {
    throw unknownCommand(words, program);
  }
  for (const token of tokens) if (token.option !== null) checkOption(token, found?.command ?? null, argv, program);
  if (found === null) return { kind: "help", words, asked: false };

  const known = optionsOf(found.command.surface);
  for (const [name, given] of options) {
    for (const text of given) checkValue(name, known[name] ?? {}, text);
    checkRepetition(name, given, found.command);
  }
  const invocation = { program, command: found.command, words: words.slice(found.length), options };
  if (found.command.surface === "memq") checkWords(invocation);
  return { kind: "run", invocation };
}

/** Whether a word follows a command that takes none and has others below it, as `stpo` in `mcp stpo`. */
function misspeltBelow(found: ReturnType<typeof findCommand>, words: readonly string[]): boolean {
  if (found === null || found.command.arguments !== undefined || words.length === found.length) return false;
  return commandsBelow(found.command.path).length > 0;
}

/** Whether an option without a value was given. */
export function flag(invocation: Invocation, name: OptionName): boolean {
  return invocation.options.has(name);
}

/** The last value of an option, or undefined. */
export function value(invocation: Invocation, name: OptionName): string | undefined {
  return invocation.options.get(name)?.at(-1);
}

/** All values of an option that may be repeated. */
export function values(invocation: Invocation, name: OptionName): string[] {
  return invocation.options.get(name) ?? [];
}

/** The number given with an option; undefined when it was not given. `narrower` is what the command takes of the option's range. */
export function number(invocation: Invocation, name: OptionName, narrower?: NumberRange): number | undefined {
  const text = value(invocation, name);
  if (text === undefined) return undefined;
  if (narrower !== undefined) checkValue(name, { range: narrower }, text);
  return Number(text);
}

/** The value of an option that knows only certain ones. */
export function choice<T extends string>(
  invocation: Invocation,
  name: OptionName,
  allowed: readonly T[],
): T | undefined {
  const text = value(invocation, name);
  return allowed.find((one) => one === text);
}

/** How the command is written: `memory search`. */
export function commandName(command: Command): string {
  return command.path.join(" ");
}

/** The tokens of `util.parseArgs`, which takes longer to load than a whole search to run. */
function readTokens(argv: readonly string[], table: Readonly<Record<string, Option>>): Token[] {
  const end = argv.indexOf("--");
  const tokens: Token[] = [];
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? "";
    const isOption = looksLikeOption(word, table) && (end < 0 || index < end);
    if (!isOption) {
      if (index !== end) tokens.push({ word, option: null, value: undefined, index });
      continue;
    }
    const found = word.startsWith("--") ? [longOption(word)] : shortOptions(word, table);
    for (const { word, option, value } of found) {
      const takesNext = value === undefined && Object.hasOwn(table, option) && table[option]?.value !== undefined;
      tokens.push({ word, option, value: takesNext ? argv[index + 1] : value, index });
      if (takesNext) index++;
    }
  }
  return tokens;
}

type FoundOption = { word: string; option: string; value: string | undefined };

/** `--name` or `--name=value`. */
function longOption(word: string): FoundOption {
  const equals = word.indexOf("=");
  const name = equals < 0 ? word : word.slice(0, equals);
  return { word: name, option: name.slice(2), value: equals < 0 ? undefined : word.slice(equals + 1) };
}

/** Letters behind one dash: each is an option, and what follows the first that takes a value is that value. */
function shortOptions(word: string, table: Readonly<Record<string, Option>>): FoundOption[] {
  const found: FoundOption[] = [];
  for (let at = 1; at < word.length; at++) {
    const letter = word.charAt(at);
    const known = Object.entries(table).find(([, { short }]) => short === letter);
    const option = known?.[0] ?? letter;
    if (known?.[1].value === undefined) found.push({ word: `-${letter}`, option, value: undefined });
    else {
      const rest = word.slice(at + 1);
      found.push({ word: `-${letter}`, option, value: rest === "" ? undefined : rest });
      break;
    }
  }
  return found;
}

/** Letters behind one dash count only when all of them are options: `-alpha` holds an h and asks for no help. */
function asksFor(name: "help" | "version", tokens: readonly Token[]): boolean {
  if (!tokens.some(({ option }) => option === name)) return false;
  const isKnown = ({ option }: Token): boolean => option !== null && Object.hasOwn(optionsOf("both"), option);
  return tokens.some(
    ({ option, index }) => option === name && tokens.every((one) => one.index !== index || isKnown(one)),
  );
}

function wordsOf(tokens: readonly Token[]): string[] {
  return tokens.filter(({ option }) => option === null).map(({ word }) => word);
}

function looksLikeOption(word: string, table: Readonly<Record<string, Option>>): boolean {
  if (!/^--?[A-Za-z]/.test(word)) return false;
  if (!/\s/.test(word)) return true;
  const name = /^--([A-Za-z][A-Za-z-]*)=/.exec(word)?.[1];
  return name !== undefined && Object.hasOwn(table, name) && table[name]?.value !== undefined;
}

function checkOption(token: Token, command: Command | null, argv: readonly string[], program: Program): void {
  const strict = command?.surface === "memq";
  const surface = command?.surface ?? "qmd";
  const table = optionsOf(surface);
  const own = ["help", "version", ...(command?.options ?? [])];
  const accepted = (name: string): boolean => own.includes(name) || (!strict && Object.hasOwn(optionsOf("qmd"), name));
  const option = token.option !== null && accepted(token.option) ? table[token.option] : undefined;
  if (option === undefined) {
    const known = strict ? own : [...Object.keys(optionsOf("qmd")), ...own];
    throw unknownOption(token, known, argv, [program, ...(command?.path ?? [])].join(" "));
  }
  if (option.value === undefined && token.value !== undefined && strict)
    throw usageError(`${token.word} takes no value`);
  const missing = token.value === undefined || isKnownOption(token.value, table, argv, token);
  if (option.value === undefined || !missing) return;
  // qmd fails here with 1.
  throw new MemqError("USAGE", `${token.word} needs a value: ${token.word} ${option.value}`, {
    exitCode: strict ? 2 : 1,
  });
}

/** Of two workspaces one would be left out without a word. qmd takes the last value of its own options. */
function checkRepetition(name: string, given: readonly string[], { surface, repeats }: Command): void {
  const isOfQmd = surface !== "memq" && Object.hasOwn(optionsOf("qmd"), name);
  const isRepeated = optionsOf(surface)[name]?.multiple === true || repeats?.some((one) => one === name) === true;
  if (isOfQmd || isRepeated) return;
  const [first, other] = new Set(given);
  if (first === undefined || other === undefined) return;
  throw usageError(`--${name} takes one value, and is given '${first}' and '${other}'`);
}

/** What one surface calls otherwise than the other. */
const SAME_MEANING = [
  ["n", "max-results", "limit"],
  ["l", "lines"],
];

function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

function unknownOption(token: Token, accepted: readonly string[], argv: readonly string[], usage: string): MemqError {
  const word = argv[token.index] ?? token.word;
  const long = token.word.startsWith("--");
  const name = long ? token.word : word;
  const same = SAME_MEANING.find((names) => names.some((one) => dashed(one) === token.word));
  const close = same?.find((one) => accepted.includes(one)) ?? (long ? closest(name.slice(2), accepted) : undefined);
  const hint = close === undefined ? `'${usage} --help' lists the options` : `Did you mean '${dashed(close)}'`;
  const end = close === undefined ? "." : "?";
  return usageError(
    `unknown option '${name}'`,
    `${hint}${end} Words that begin with a dash follow --: ${usage} -- ${word}`,
  );
}

/** Whether the word taken as a value is itself an option, as in `--from --lines 3`: then the value was forgotten. */
function isKnownOption(
  word: string,
  table: Readonly<Record<string, Option>>,
  argv: readonly string[],
  token: Token,
): boolean {
  const inline = argv[token.index] !== token.word;
  const name = /^--([A-Za-z-]+)(?:=|$)/.exec(word)?.[1];
  return !inline && name !== undefined && Object.hasOwn(table, name);
}

/** The words that a command has no use for: one word goes to each of its arguments, any number to one with `...`. */
export function surplusWords({ command, words }: Invocation): string[] {
  const pattern = command.arguments ?? "";
  if (pattern.includes("...")) return [];
  return words.slice(pattern === "" ? 0 : pattern.split(" ").length);
}

/** Of every command, or what holds in any case, or accepted by qmd and of no use to it. */
const NEVER_IDLE = ["index", "no-gpu", "skill", "line-numbers", "pull", "context", "progress"];

/** The options that a command has no use for, as they are written: qmd's commands accept those of all others. */
export function idleOptions({ command, options }: Invocation): string[] {
  const used = new Set<string>([...command.options, ...NEVER_IDLE]);
  const known = optionsOf(command.surface);
  const written = (name: string): string => (known[name]?.short === name || name === "n" ? `-${name}` : `--${name}`);
  return [...options.keys()].filter((name) => !used.has(name)).map(written);
}

function checkWords(invocation: Invocation): void {
  const [extra] = surplusWords(invocation);
  if (extra === undefined) return;
  throw usageError(`unexpected argument '${extra}'`, `Usage: ${usageOf(invocation.command)}`);
}

/** A command with its arguments: `memory get PATH`. */
export function usageOf(command: Command): string {
  return `${commandName(command)}${command.arguments === undefined ? "" : ` ${command.arguments}`}`;
}

function unknownCommand(words: readonly string[], program: Program): MemqError {
  const group = commandsBelow(words.slice(0, 1));
  if (group.length > 0) {
    const known = group.flatMap(({ path }) => path[1] ?? []);
    const close = closest(words[1] ?? "", known);
    const hint = close === undefined ? "" : `Did you mean '${words[0]} ${close}'? `;
    return usageError(
      `unknown command '${words[0]} ${words[1]}'`,
      `${hint}Run '${program} ${words[0]} --help' for usage.`,
    );
  }
  const sentence = `Unknown command: ${words[0]}`;
  const close = nearestName(
    words[0] ?? "",
    COMMANDS.flatMap(({ path }) => path[0] ?? []),
  );
  const meant = close === undefined ? "" : `Did you mean '${program} ${close}'? `;
  // qmd's sentence and exit code, which its clients know.
  return new MemqError("USAGE", sentence, {
    hint: `${meant}Run '${program} --help' for usage.\n${doctorHint(program)}`,
    exitCode: 1,
  });
}

/** The known word that begins with what was typed, else the one most like it. */
function closest(word: string, known: readonly string[]): string | undefined {
  return (word.length >= 3 ? known.find((one) => one.startsWith(word)) : undefined) ?? nearestName(word, known);
}
