import { usageError } from "../../errors.ts";
import { recallForMessage } from "../../memory/recall-message.ts";
import { longTermWithheld } from "../../memory/sessions.ts";
import { notice, writeJson, writeOut } from "../../output.ts";
import { printableText } from "../../printable.ts";
import type { Invocation } from "../parse.ts";
import { flag, number, value, values } from "../parse.ts";
import { withEngine } from "./memory-engine.ts";

/** `memq memory recall MESSAGE`. */
export function run(invocation: Invocation): Promise<void> {
  const message = invocation.words.join(" ");
  if (message.trim() === "") throw usageError("Missing message.", 'memq memory recall "shall I restart the database?"');
  const request = {
    message,
    sessionKey: value(invocation, "session-key"),
    chatType: value(invocation, "chat-type"),
    maxEntries: number(invocation, "max-results", { min: 1, max: 20, whole: true }),
    projectKeys: values(invocation, "project"),
  };
  return withEngine(invocation, async (engine) => {
    const answer = await recallForMessage(engine.agent, request);
    const withheld = longTermWithheld(request, engine.agent.memory.agentId);
    if (withheld !== null) notice(withheld);
    if (answer.warning !== undefined) notice(answer.warning);
    if (flag(invocation, "json")) writeJson(answer);
    else if (answer.context !== "") writeOut(`${printableText(answer.context)}\n`);
    else if (withheld === null) notice("No entry is called up by this message.");
  });
}
