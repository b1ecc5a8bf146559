import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Framing } from "../../src/gateway/framing.ts";
import { frameMessage, MessageDecoder } from "../../src/gateway/framing.ts";
import { childEnv, memqCommand } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";

/** An answer as it came; tests look into it. */
export type Json = ReturnType<typeof JSON.parse>;

export type Client = {
  request(method: string, params?: unknown, id?: string | number): Promise<Json>;
  /** Result of a request; throws its error. */
  call(method: string, params?: unknown): Promise<Json>;
  notify(method: string, params?: unknown): void;
  raw(bytes: string | Uint8Array): void;
  /** The next message that no request waits for: a notification, or an answer without an id. */
  unasked(): Promise<Json>;
  messages: Json[];
  /** Closes the input and waits for the end. */
  end(): Promise<{ exitCode: number; stderr: string }>;
  exited: Promise<number>;
  pid: number;
};

/** Starts `memq rpc`, or another server on stdin and stdout, from source and speaks with it; anything but messages is a failure. */
export function startRpc(
  options: {
    framing?: Framing;
    env?: Record<string, string>;
    args?: string[];
    command?: "rpc" | "mcp";
    cwd?: string;
  } = {},
): Client {
  const { framing = "lines", env, args = [], command = "rpc", cwd } = options;
  const child = Bun.spawn(memqCommand(command, ...args), {
    env: childEnv(env),
    ...(cwd === undefined ? {} : { cwd }),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const stderr = new Response(child.stderr).text();
  const waiting = new Map<string, (message: Json) => void>();
  const messages: Json[] = [];
  const loose: Json[] = [];
  const listeners: ((message: Json) => void)[] = [];
  let nextId = 1;

  void (async () => {
    const decoder = new MessageDecoder();
    for await (const chunk of child.stdout) {
      for (const frame of decoder.push(chunk)) {
        if ("fault" in frame) throw new Error(frame.fault);
        const message = JSON.parse(frame.text);
        messages.push(message);
        const waiter = "method" in message ? undefined : waiting.get(JSON.stringify(message.id));
        if (waiter !== undefined) waiter(message);
        else if (listeners.length > 0) listeners.shift()?.(message);
        else loose.push(message);
      }
    }
  })();

  const send = (message: object): void => {
    void child.stdin.write(frameMessage(JSON.stringify({ jsonrpc: "2.0", ...message }), framing));
    void child.stdin.flush();
  };
  const client: Client = {
    request(method, params, id = nextId++) {
      const { promise, resolve } = Promise.withResolvers<Json>();
      waiting.set(JSON.stringify(id), resolve);
      send({ id, method, ...(params === undefined ? {} : { params }) });
      return promise;
    },
    async call(method, params) {
      const { result, error } = await client.request(method, params);
      if (error !== undefined) throw new Error(JSON.stringify(error));
      return result;
    },
    notify: (method, params) => send({ method, params }),
    raw(bytes) {
      void child.stdin.write(bytes);
      void child.stdin.flush();
    },
    unasked() {
      const first = loose.shift();
      if (first !== undefined) return Promise.resolve(first);
      return new Promise((resolve) => listeners.push(resolve));
    },
    messages,
    async end() {
      void child.stdin.end();
      return { exitCode: await child.exited, stderr: await stderr };
    },
    exited: child.exited,
    pid: child.pid,
  };
  return client;
}

/** A workspace with these notes and a state folder beside it, both thrown away with the tests' temporary folder. */
export function makeHome(notes: Record<string, string>): { workspace: string; stateDir: string } {
  const root = temporaryFolder("agent-");
  const [workspace, stateDir] = [join(root, "ws"), join(root, "state")];
  mkdirSync(workspace);
  for (const [path, text] of Object.entries(notes)) {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  }
  return { workspace, stateDir };
}
