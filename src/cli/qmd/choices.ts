import { MemqError } from "../../errors.ts";
import type { Invocation } from "../parse.ts";
import { value } from "../parse.ts";
import { formatOf } from "./format.ts";

/** Refuses what qmd refuses on every command, whether or not the command uses it: another format, another way of cutting. */
export function checkChoices(invocation: Invocation): void {
  if (invocation.command.surface === "memq") return;
  formatOf(invocation);
  const strategy = value(invocation, "chunk-strategy");
  if (strategy === undefined || strategy === "auto" || strategy === "regex") return;
  throw new MemqError("USAGE", `--chunk-strategy must be "auto" or "regex" (got "${strategy}")`);
}
