import { defineCommand, type CommandDef } from "citty";
import type { Invocation } from "./parse.ts";
import { commandName } from "./parse.ts";

/**
 * A command of the table as citty runs it; its result is the exit code. Argv was read already (`parse.ts`), since citty's own
 * parser keeps only the last of repeated options and accepts unknown ones: commands get the invocation and never citty's `args`.
 */
export function cittyCommand(invocation: Invocation): CommandDef {
  const { command } = invocation;
  return defineCommand({
    meta: { name: commandName(command), description: command.summary },
    run: async () => (await (await command.load()).run(invocation)) ?? 0,
  });
}
