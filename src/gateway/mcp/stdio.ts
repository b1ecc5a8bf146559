import { expectMuchWork } from "../../long-running.ts";
import { openMessageStream } from "../../output.ts";
import { frameMessage, MessageDecoder } from "../framing.ts";
import { memoryReleaser } from "../idle.ts";
import type { Call } from "../jsonrpc.ts";
import { openConnection, RpcError } from "../jsonrpc.ts";
import { endOfSession, readInput } from "../session-end.ts";
import { agreedVersion, batchRefusal, claimsModern, eraOf, missingMeta } from "./protocol.ts";
import type { Identity } from "./server.ts";
import { answerRequest } from "./server.ts";
import type { McpSurface } from "./surface.ts";

/** Methods that may stand at the beginning of a session of the older versions. */
const OPENING = new Set(["initialize", "ping"]);

/**
 * Serves MCP over stdin and stdout until the input ends, and ends the process with 0. Both kinds of clients are served on the one pipe:
 * those that begin with `initialize`, and those whose every request says which version it speaks.
 */
export async function serveMcpOverStdio(surface: McpSurface, identity: Identity): Promise<never> {
  expectMuchWork();
  const decoder = new MessageDecoder();
  const stream = openMessageStream(() => void stop());
  /** What `initialize` agreed on. */
  let version: string | null = null;

  async function handle(method: string, params: Record<string, unknown>, call: Call): Promise<unknown> {
    if (call.id === undefined) {
      if (method === "notifications/cancelled") connection.cancel(params["requestId"]);
      return {};
    }
    if (call.id === null) throw new RpcError("invalidRequest", "id must be a string or a number");
    const era = eraOf(params);
    const begins = OPENING.has(method) && !claimsModern(params);
    if (version === null && !begins && !claimsModern(params)) throw missingMeta();
    if (method === "initialize" && era === "legacy") version = agreedVersion(params["protocolVersion"]);
    const { signal } = call;
    return answerRequest(surface, { method, params, era, signal, notify: connection.notify }, identity);
  }

  const connection = openConnection({
    handle,
    send: (json) => stream.write(frameMessage(json, decoder.framing ?? "lines")),
    log: (sentence) => console.error(sentence),
    refusesBatch: (messages) => batchRefusal(version, messages),
    silentOnCancel: true,
  });
  const stop = endOfSession(connection, stream, () => surface.close());
  const receive = (frame: Parameters<typeof connection.receive>[0]): void => connection.receive(frame);
  await readInput(decoder, receive, { onChunk: memoryReleaser(), stop: () => void stop() });
  // Where nobody reads stderr any more, a write that blocks would keep the process for ever.
  process.stderr.write("Shutting down (stdin closed)...\n");
  return stop();
}
