import { usageError } from "../errors.ts";
import { writeOut } from "../output.ts";
import { shownOptions } from "./help.ts";
import type { Invocation } from "./parse.ts";
import { commandName } from "./parse.ts";
import type { Command } from "./table.ts";
import { COMMANDS } from "./table.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** `memq completions SHELL`: a script that the shell sources. */
export function run({ words }: Invocation): void {
  const shell = words[0] ?? "";
  if (!Object.hasOwn(SHELLS, shell))
    throw usageError("completions are made for bash, zsh and fish", "memq completions bash");
  writeOut(completionScript(shell as keyof typeof SHELLS));
}

/** The completion script for a shell, for `memq` and `qmd`. */
function completionScript(shell: keyof typeof SHELLS): string {
  return SHELLS[shell]();
}

/** Every way to write a command, with aliases. */
function names(command: Command): string[] {
  const parents = command.path.slice(0, -1);
  return [commandName(command), ...(command.aliases ?? []).map((alias) => [...parents, alias].join(" "))];
}

/** Per prefix of command words ("" for none), the words that may follow. */
function nextWords(): Map<string, Set<string>> {
  const next = new Map<string, Set<string>>();
  for (const name of COMMANDS.flatMap(names)) {
    const words = name.split(" ");
    words.forEach((word, at) => {
      const prefix = words.slice(0, at).join(" ");
      next.set(prefix, (next.get(prefix) ?? new Set()).add(word));
    });
  }
  return next;
}

function flags(command: Command): string[] {
  const all: string[] = [];
  for (const [name, { short }] of shownOptions(command)) {
    all.push(name.length === 1 ? `-${name}` : `--${name}`);
    if (short !== undefined && name.length > 1) all.push(`-${short}`);
  }
  return all;
}

function bashCompletion(): string {
  const follow = [...nextWords()].map(([prefix, words]) => `    "${prefix}") words="${[...words].join(" ")}" ;;`);
  const options = COMMANDS.map((command) => `    ${quoted(names(command))}) words="${flags(command).join(" ")}" ;;`);
  const choices = choiceRows().map(
    ([name, values]) => `    --${name}) COMPREPLY=($(compgen -W "${values}" -- "$word")); return ;;`,
  );
  return `# bash completion for memq
_memq() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
      -*) ;;
      *) path="\${path:+$path }\${COMP_WORDS[at]}" ;;
    esac
  done
  case "$previous" in
${choices.join("\n")}
  esac
  if [[ "$word" == -* ]]; then
    while [[ -n "$path" && -z "$words" ]]; do
      case "$path" in
${options.map((row) => `  ${row}`).join("\n")}
      esac
      [[ "$path" == *" "* ]] && path="\${path% *}" || path=""
    done
  else
    case "$path" in
${follow.join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ -z "$words" ]] && COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _memq memq qmd
`;
}

function zshCompletion(): string {
  return `#compdef memq qmd
# zsh completion for memq, through bash's
autoload -U +X bashcompinit && bashcompinit
${bashCompletion()}`;
}

function fishCompletion(): string {
  const rows = COMMANDS.flatMap((command) => {
    const path = command.path;
    const parents = path.slice(0, -1);
    const reached = parents.length === 0 ? "__fish_use_subcommand" : `__fish_seen_subcommand_from ${parents.join(" ")}`;
    const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    const call = "complete -c memq";
    return [
      `${call} -f -n '${reached}' -a '${path.at(-1)}' -d '${escaped(command.summary)}'`,
      ...shownOptions(command).map(([name, option]) => {
        const long = name.length === 1 ? "" : ` -l ${name}`;
        const short = option.short === undefined ? "" : ` -s ${option.short}`;
        const values = option.choices === undefined ? "" : ` -a '${option.choices.join(" ")}'`;
        const needs = option.value === undefined ? "" : ` -r${values}`;
        return `${call} -n '${seen}'${long}${short}${needs} -d '${escaped(option.description)}'`;
      }),
    ];
  });
  const groups = [...new Set(COMMANDS.filter(({ path }) => path.length > 1).map(({ path }) => path[0]))];
  const heads = groups.map((group) => `complete -c memq -f -n __fish_use_subcommand -a '${group}'`);
  return `# fish completion for memq\n${[...heads, ...rows].join("\n")}\ncomplete -c qmd -w memq\n`;
}

function choiceRows(): [string, string][] {
  const rows = new Map(
    COMMANDS.flatMap(shownOptions).flatMap(([name, { choices }]) => (choices ? [[name, choices.join(" ")]] : [])),
  );
  return [...rows];
}

function quoted(all: readonly string[]): string {
  return all.map((one) => `"${one}"`).join("|");
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}
