import { MemqError } from "../errors.ts";
import { expectMuchWork } from "../long-running.ts";
import type { MemoryEngine } from "../memory/engine.ts";
import type { MemoryPlace, MemoryService } from "../memory/service.ts";
import { openMemoryService } from "../memory/service.ts";
import { openMessageStream } from "../output.ts";
import type { Framing } from "./framing.ts";
import { frameMessage, MessageDecoder } from "./framing.ts";
import { memoryReleaser } from "./idle.ts";
import type { Call } from "./jsonrpc.ts";
import { openConnection, RpcError } from "./jsonrpc.ts";
import type { Session } from "./methods.ts";
import { checkedParams, meantInstead, METHODS } from "./methods.ts";
import { endOfSession, readInput } from "./session-end.ts";

/**
 * Serves JSON-RPC 2.0 over stdin and stdout until the input ends or `shutdown` is called, and ends the process with 0.
 * Whoever reads our output decides the framing by what they send first. `defaults` come from the command line; `initialize` may
 * say otherwise.
 */
export async function serveRpc(defaults: MemoryPlace): Promise<never> {
  expectMuchWork();
  const decoder = new MessageDecoder();
  const stream = openMessageStream(() => void stop());
  const working = memoryReleaser();
  const framing = (): Framing => decoder.framing ?? "lines";

  let service: MemoryService | null = null;
  let opening: Promise<MemoryEngine> | null = null;

  const session: Session = {
    async engine(agentId) {
      const first = await opening;
      if (first === null || service === null) throw new RpcError("notInitialized", "call initialize first");
      return agentId === undefined ? first : service.engine(agentId);
    },
    open(place, { watch }) {
      if (opening !== null) throw new RpcError("invalidRequest", "the session is initialized already");
      service = openMemoryService(
        { ...defaults, ...given(place) },
        {
          live: true,
          watch,
          log: (sentence) => console.error(sentence),
          onChanged: (agentId, change) => session.notify("memory.changed", { ...change, agentId }),
        },
      );
      opening = service.engine();
      // A failed attempt may be repeated with better parameters.
      opening.catch(() => (opening = null));
      return opening;
    },
    notify: (method, params) => connection.notify(method, params),
    end() {
      connection.close();
      // Its own request counts as running only from then on.
      setImmediate(() => void stop());
    },
    cancel: (id) => connection.cancel(id),
  };

  const connection = openConnection({
    handle: (name, params, call) => handle(name, params, call, session, () => opening !== null),
    send: (json) => stream.write(frameMessage(json, framing())),
    log: (sentence) => console.error(sentence),
  });

  const stop = endOfSession(connection, stream, async () => service?.close());

  await readInput(decoder, (frame) => connection.receive(frame), { onChunk: working, stop: () => void stop() });
  return stop();
}

async function handle(
  name: string,
  params: Record<string, unknown>,
  call: Call,
  session: Session,
  isOpen: () => boolean,
): Promise<unknown> {
  const method = Object.hasOwn(METHODS, name) ? METHODS[name] : undefined;
  if (method === undefined) {
    // Notifications that we don't know are nobody's fault.
    if (call.id === undefined) return {};
    throw new RpcError("unknownMethod", `unknown method '${name}'${meantInstead(name, Object.keys(METHODS))}`);
  }
  try {
    const checked = checkedParams(method, params);
    if (!method.always && !isOpen()) throw new RpcError("notInitialized", "call initialize first");
    return await method.run(checked, session, call);
  } catch (error) {
    // What is a usage error on the command line is a wrong parameter here.
    if (error instanceof MemqError && error.exitCode === 2) throw new RpcError("invalidParams", error.message);
    throw error;
  }
}

/** Without keys whose value is undefined, so that defaults stay. */
function given<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}
