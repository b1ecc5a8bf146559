import { usageError } from "../../errors.ts";
import { appendForAgent } from "../../memory/append.ts";
import { writeJson, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { choice, flag, value } from "../parse.ts";
import { withEngine } from "./memory-engine.ts";

/** `memq memory append TEXT`. */
export function run(invocation: Invocation): Promise<void> {
  const text = invocation.words.join(" ");
  const target = choice(invocation, "target", ["daily", "long-term"]) ?? "daily";
  if (text.trim() === "") throw usageError("Missing text.", 'memq memory append "- Ana prefers short answers."');
  const date = value(invocation, "date");
  return withEngine(invocation, async (engine) => {
    const appended = await appendForAgent(engine.agent, { text, target, date });
    if (flag(invocation, "json")) return writeJson(appended);
    const { path, startLine, endLine } = appended;
    writeOut(`Appended to ${path}:${startLine}${endLine === startLine ? "" : `-${endLine}`}\n`);
  });
}
