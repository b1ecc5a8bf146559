import { MemqError, usageError } from "../../errors.ts";
import { documentShown, notice, writeJson, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { flag, number } from "../parse.ts";
import { withEngine } from "./memory-engine.ts";

/** `memq memory get PATH`. */
export function run(invocation: Invocation): Promise<void> {
  const [path] = invocation.words;
  if (path === undefined) throw usageError("Missing path.", "memq memory get memory/2026-02-10.md");
  const request = { path, from: number(invocation, "from"), lines: number(invocation, "lines") };
  return withEngine(invocation, async (engine) => {
    const answer = await engine.get(request);
    if (flag(invocation, "json")) writeJson(answer);
    if (answer.error !== undefined) throw new MemqError(answer.code ?? "MEMORY_READ_FAILED", answer.error);
    if (flag(invocation, "json")) return;
    if (answer.text !== "") writeOut(documentShown(answer.text.endsWith("\n") ? answer.text : `${answer.text}\n`));
    else if (answer.lines === undefined) notice(`${answer.path} is empty or does not exist.`);
    if (answer.nextFrom !== undefined) notice(`More follows: --from ${answer.nextFrom}`);
  });
}
