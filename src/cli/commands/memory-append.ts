import { messageOf, usageError } from "../../errors.ts";
import { appendForAgent } from "../../memory/append.ts";
import type { MemoryEngine } from "../../memory/engine.ts";
import { notice, writeJson, writeOut } from "../../output.ts";
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
    const { path, startLine, endLine } = appended;
    if (flag(invocation, "json")) writeJson(appended);
    else writeOut(`Appended to ${path}:${startLine}${endLine === startLine ? "" : `-${endLine}`}\n`);
    await indexAppended(engine, path, invocation.program);
  });
}

/** Makes the line searchable by its words. It is written already: that this can't be done now is said, and no failure. */
async function indexAppended(engine: MemoryEngine, path: string, program: string): Promise<void> {
  if (!engine.agent.memory.enabled) return;
  try {
    // The first search indexes everything.
    if (engine.isEmpty()) return;
    const { indexNote } = await import("../../memory/index-note.ts");
    if (await indexNote(engine.agent.home, path)) return;
    notice(`No search finds it before '${program} memory index' has run.`);
  } catch (error) {
    notice(`No search finds it before '${program} memory index' has run: ${messageOf(error)}`);
  }
}
