import { usageError } from "../../errors.ts";
import { checkFlush, recordFlush } from "../../memory/flush-check.ts";
import { writeJson, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { flag, number, value } from "../parse.ts";
import { withEngine } from "./memory-engine.ts";

/** `memq memory flush`: whether a flush is due, or with `--done` that it has run. */
export function run(invocation: Invocation): Promise<void> {
  const sessionKey = value(invocation, "session-key");
  if (sessionKey === undefined) throw usageError("Missing --session-key.");
  const compactionCount = required(invocation, "compaction-count");
  return withEngine(invocation, async (engine) => {
    if (flag(invocation, "done")) {
      await recordFlush(engine.agent, { sessionKey, compactionCount });
      return flag(invocation, "json") ? writeJson({}) : writeOut(`Recorded for cycle ${compactionCount}.\n`);
    }
    const question = {
      sessionKey,
      compactionCount,
      contextTokens: required(invocation, "context-tokens"),
      contextWindow: required(invocation, "context-window"),
      transcriptBytes: number(invocation, "transcript-bytes"),
      workspaceAccess: value(invocation, "workspace-access"),
    };
    const answer = await engine.withIndex((index) => checkFlush(engine.agent, index, question));
    if (flag(invocation, "json")) return writeJson(answer);
    writeOut(answer.due ? `A flush is due.\n\n${answer.prompt ?? ""}\n` : `No flush is due: ${answer.reason}.\n`);
  });
}

function required(invocation: Invocation, name: "context-tokens" | "context-window" | "compaction-count"): number {
  const given = number(invocation, name);
  if (given === undefined) throw usageError(`Missing --${name}.`);
  return given;
}
