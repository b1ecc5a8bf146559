/* Starts a server exactly as a client's configuration says, shakes hands over its stdin and stdout, and lets it end. */
import { messageOf } from "../errors.ts";
import { isObject, textAt, valueAt } from "../json.ts";
import { VERSION } from "../version.ts";
import type { Launch } from "./setup.ts";

/** What a server said of itself. */
export type Greeting = { version: string; tools: string[] };

const ANSWER_MS = 20_000;
const END_MS = 2_000;
/** The newest version of the protocol whose sessions begin with `initialize`. */
const MCP_VERSION = "2025-11-25";

/** The greeting of a server; throws a sentence without an end mark that says what it did instead. */
export async function greetingOf(launch: Launch): Promise<Greeting> {
  const session = openSession(launch);
  try {
    return await (launch.protocol === "mcp" ? mcpGreeting(session) : rpcGreeting(session, launch));
  } finally {
    await session.end();
  }
}

async function mcpGreeting(session: Session): Promise<Greeting> {
  const clientInfo = { name: "memq-setup", version: VERSION };
  const first = await session.request("initialize", { protocolVersion: MCP_VERSION, capabilities: {}, clientInfo });
  session.notify("notifications/initialized", {});
  const listed = valueAt(await session.request("tools/list", {}), ["tools"]);
  const tools = Array.isArray(listed) ? listed.flatMap((tool) => textAt(tool, ["name"]) ?? []) : [];
  if (tools.length === 0) throw new Error("it offers no tools");
  return { version: textAt(first, ["serverInfo", "version"]) ?? "", tools };
}

/** The tools of the plug are two methods of `memq rpc`. */
async function rpcGreeting(session: Session, { place }: Launch): Promise<Greeting> {
  const first = await session.request("initialize", place);
  const methods = valueAt(first, ["capabilities", "methods"]);
  const offered = Array.isArray(methods) ? methods : [];
  const tools = ["search", "get"].filter((name) => offered.includes(`memory.${name}`)).map((name) => `memory_${name}`);
  if (tools.length < 2) throw new Error("it is not the 'memq rpc' that the plug needs");
  await session.request("memory.status", {});
  return { version: textAt(first, ["serverInfo", "version"]) ?? "", tools };
}

type Session = {
  request(method: string, params: Record<string, unknown>): Promise<unknown>;
  notify(method: string, params: Record<string, unknown>): void;
  end(): Promise<void>;
};

function openSession({ command, env }: Launch): Session {
  const child = started(command, env);
  const stderr = new Response(child.stderr).text();
  const answers = messagesOf(child.stdout);
  let nextId = 1;
  const send = (message: Record<string, unknown>): void => {
    // A server that is gone is noticed by the end of its output.
    void quietly(() => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
    void quietly(() => child.stdin.flush());
  };

  async function answerTo(id: number): Promise<unknown> {
    // Not `for await`: leaving it would close the stream for the next answer.
    for (let next = await answers.next(); next.done !== true; next = await answers.next()) {
      const message = next.value;
      if (message["id"] !== id) continue;
      if (isObject(message["error"])) {
        const sentences = [["message"], ["data", "hint"]].map((path) => textAt(message, ["error", ...path]));
        throw new Error(`it answered: ${sentences.filter((text) => text !== undefined).join(" ")}`);
      }
      return message["result"];
    }
    const words = (await stderr).trim().split("\n").at(-1);
    throw new Error(`it ended (exit code ${await child.exited})${words === "" ? "" : `: ${words}`}`);
  }

  return {
    async request(method, params) {
      const id = nextId;
      nextId += 1;
      send({ id, method, params });
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
          () => reject(new Error(`it did not answer '${method}' within ${ANSWER_MS / 1000} s`)),
          ANSWER_MS,
        );
      });
      try {
        return await Promise.race([answerTo(id), late]);
      } finally {
        clearTimeout(timer);
      }
    },
    notify: (method, params) => send({ method, params }),
    async end() {
      void quietly(() => child.stdin.end());
      const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
      await child.exited;
      clearTimeout(timer);
    },
  };
}

async function quietly(write: () => unknown): Promise<void> {
  try {
    await write();
  } catch {}
}

function started(command: string[], env: Record<string, string>): Bun.Subprocess<"pipe", "pipe", "pipe"> {
  try {
    return Bun.spawn(command, {
      env: { ...process.env, ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
  } catch (error) {
    throw new Error(`'${command[0]}' can't be started: ${messageOf(error)}`, { cause: error });
  }
}

/** The messages of a server, one a line; anything else on its stdout would break the client too. */
async function* messagesOf(stdout: ReadableStream<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stdout) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield message(line);
  }
}

function message(line: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(line);
    if (isObject(parsed)) return parsed;
  } catch {
    // Said below.
  }
  throw new Error(`it wrote what is no message to stdout: ${line.slice(0, 80)}`);
}
