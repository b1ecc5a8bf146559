import { runCommand } from "citty";
import { asMemqError } from "../errors.ts";
import { cittyCommand } from "./citty.ts";
import { endOnSignals } from "./interrupted.ts";
import type { Invocation } from "./parse.ts";
import { notice, writeOut } from "../output.ts";
import { versionLine } from "../version.ts";
import type { Program } from "../version.ts";
import { commandName, flag, idleOptions, readArgv, surplusWords, usageOf } from "./parse.ts";

/** Parses, runs, and answers with the exit code; every failure becomes one sentence and a hint on stderr. */
export async function runCommandLine(argv: readonly string[], program: Program): Promise<number> {
  for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, fail);
  try {
    const request = readArgv(argv, program);
    if (request.kind === "version") {
      writeOut(`${versionLine(program)}\n`);
      return 0;
    }
    if (request.kind === "help") {
      const { helpText } = await import("./help.ts");
      writeOut(helpText(request.words, program));
      return request.asked ? 0 : 1;
    }
    if (flag(request.invocation, "no-gpu")) process.env["QMD_FORCE_CPU"] = "1";
    noteUnused(request.invocation, program);
    endOnSignals();
    const { result } = await runCommand(cittyCommand(request.invocation), { rawArgs: [] });
    return typeof result === "number" ? result : 0;
  } catch (error) {
    printError(error);
    if (asMemqError(error).code === "INDEX_DAMAGED") {
      const { reportDamageMet } = await import("../store/damage.ts");
      reportDamageMet(error);
    }
    return asMemqError(error).exitCode;
  }
}

/** What qmd passes over without a word; its clients count on exit code 0. */
function noteUnused(invocation: Invocation, program: Program): void {
  const [words, options] = [surplusWords(invocation), idleOptions(invocation)];
  const usage = `${program} ${usageOf(invocation.command)}`;
  if (words.length > 0) notice(`Left out: ${words.join(" ")}. Usage: ${usage}`);
  if (options.length > 0) notice(`Without effect on ${commandName(invocation.command)}: ${options.join(", ")}`);
}

/** What nobody caught ends the program like any other failure, without a stack. */
function fail(error: unknown): never {
  printError(error);
  process.exit(asMemqError(error).exitCode);
}

/** The sentence, and below it the hint; never a stack, unless MEMQ_DEBUG asks for it. */
function printError(error: unknown): void {
  const { message, hint } = asMemqError(error);
  notice(message);
  if (hint !== undefined) notice(hint);
  if (process.env["MEMQ_DEBUG"] && error instanceof Error && error.stack !== undefined) notice(error.stack);
}
