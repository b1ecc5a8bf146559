import { contextForSession } from "../../memory/context.ts";
import { longTermWithheld } from "../../memory/sessions.ts";
import { documentShown, notice, writeJson, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { flag, value } from "../parse.ts";
import { withEngine } from "./memory-engine.ts";

/** `memq memory context`. */
export function run(invocation: Invocation): Promise<void> {
  const request = { sessionKey: value(invocation, "session-key"), chatType: value(invocation, "chat-type") };
  return withEngine(invocation, async (engine) => {
    const context = await contextForSession(engine.agent, request);
    const { files, warning } = context;
    if (warning !== undefined) notice(warning);
    const withheld = longTermWithheld(request, engine.agent.memory.agentId);
    if (withheld !== null) notice(withheld);
    if (flag(invocation, "json")) return writeJson(context);
    if (files.length === 0) return notice("There is nothing to read at session start yet.");
    for (const { path, text, truncated } of files) {
      writeOut(documentShown(`# ${path}\n\n${text.trimEnd()}\n\n`));
      if (truncated) notice(`${path} is longer than is loaded; the rest was left out.`);
    }
  });
}
