import { optionUsage, shownOptions, usageLine } from "./help.ts";
import { writeOut } from "../output.ts";
import { VERSION } from "../version.ts";
import type { Command } from "./table.ts";
import { COMMANDS } from "./table.ts";

/** `memq man`: the manual page in roff, as `man` reads it. */
export function run(): void {
  writeOut(manualPage());
}

/** The whole manual page (man-pages(7)), made from the table of commands. */
function manualPage(): string {
  return `${[
    `.TH MEMQ 1 "" "memq ${VERSION}"`,
    ".SH NAME",
    "memq \\- a memory engine for AI agents",
    ".SH SYNOPSIS",
    ".B memq",
    "\\fIcommand\\fR [\\fIoptions\\fR]",
    ".SH DESCRIPTION",
    "Indexes Markdown notes and finds the right passage by keyword and by meaning. Files are never changed by a search.",
    ".SH COMMANDS",
    ...COMMANDS.flatMap(commandSection),
    ".SH EXIT STATUS",
    "0 success, also when nothing was found; 1 a failure; 2 a mistake in how the command was called; 75 try again later.",
  ].join("\n")}\n`;
}

function commandSection(command: Command): string[] {
  return [
    `.SS ${roff(usageLine(command, "memq"))}`,
    `${roff(command.summary)}.`,
    ...(command.details === undefined ? [] : [".PP", roff(command.details)]),
    ...shownOptions(command).flatMap(([name, option]) => [
      ".TP",
      `.B ${roff(optionUsage(name, option))}`,
      roff(option.description),
    ]),
  ];
}

/** Text as roff shows it: dashes stay dashes, and a line can't begin with a request. */
function roff(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replace(/^[.']/gm, "\\&$&");
}
