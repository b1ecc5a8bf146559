import { messageOf } from "../errors.ts";
import type { MessageStream } from "../output.ts";
import type { Frame, MessageDecoder } from "./framing.ts";
import type { Connection } from "./jsonrpc.ts";

/**
 * How long running requests may still answer when the input ends, and by when all must be closed. An answer that nobody reads is waited
 * for till the end, and the end of input may be met late, in the middle of making a large answer: that has room within a second.
 */
const GRACE_MS = 550;
const CLOSED_BY_MS = 750;

/**
 * What ends the process of a server on stdin and stdout: refuses further requests, lets what is running or waits for its turn finish
 * for a moment, cancels the rest, closes what is open, and exits with 0, a second after the call at the latest.
 */
export function endOfSession(
  connection: Pick<Connection, "close" | "settled" | "cancelAll">,
  stream: MessageStream,
  close: () => Promise<void>,
): () => Promise<never> {
  let stopping: Promise<never> | null = null;
  return () => {
    stopping ??= (async () => {
      connection.close();
      const closedBy = Bun.sleep(CLOSED_BY_MS);
      setTimeout(() => process.exit(0), CLOSED_BY_MS + 50).unref();
      await Promise.race([connection.settled(), Bun.sleep(GRACE_MS)]);
      connection.cancelAll();
      await connection.settled();
      await Promise.race([close(), closedBy]);
      await stream.flushed();
      process.exit(0);
    })();
    return stopping;
  };
}

/** Hands on every message of stdin until it ends; signals stop the session too. */
export async function readInput(
  decoder: MessageDecoder,
  receive: (frame: Frame) => void,
  { onChunk, stop }: { onChunk: () => void; stop: () => void },
): Promise<void> {
  // A loose end of one request must not end the service of all.
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => console.error(messageOf(error)));
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, stop);
  try {
    for await (const chunk of process.stdin) {
      onChunk();
      for (const frame of decoder.push(chunk as Uint8Array)) receive(frame);
    }
    for (const frame of decoder.end()) receive(frame);
  } catch (error) {
    console.error(`the input can't be read: ${messageOf(error)}`);
  }
}
