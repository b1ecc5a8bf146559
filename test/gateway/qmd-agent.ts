// An agent that `memq rpc` serves from its qmd home, and a service that embeds for it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hashedWords } from "../search/homes.ts";
import { type Client, type Json, makeHome, startRpc } from "./client.ts";

const running: Client[] = [];

/** Ends every client of `openAgent`. */
export async function endAgents(): Promise<void> {
  await Promise.all(running.splice(0).map((client) => client.end()));
}

export type Place = { workspace: string; stateDir: string };

export type QmdAgent = Place & {
  client: Client;
  /** The answer to `initialize`. */
  hello: Json;
  search(params?: object): Promise<Json>;
  /** Paths of what is found, sorted. */
  paths(params?: object): Promise<string[]>;
  /** The next `memory.changed`. */
  changed(): Promise<Json>;
  /** Writes notes of the workspace. */
  write(notes: Record<string, string>): void;
  /** Folder of the transcripts. */
  sessions: string;
};

export type AgentOptions = {
  notes?: Record<string, string>;
  /** `memory.qmd` of the configuration. */
  qmd?: object;
  /** `agents.defaults.memorySearch`. */
  memorySearch?: object;
  /** The rest of the configuration. */
  config?: object;
  env?: Record<string, string>;
  watch?: boolean;
  agentId?: string;
  prepare?: (place: Place) => void;
};

export const NOTES = {
  "MEMORY.md": "# Long-term\n\n- The hedgehog is called Rod.\n",
  "memory/2026-02-10.md": "# Garden\n\nThe hedgehog sleeps in the garage.\n\nThe hedgehog eats figs.\n",
};

/** Starts `memq rpc` for an agent with `memory.backend: "qmd"`. Nothing is watched unless asked for. */
export async function openAgent(options: AgentOptions = {}): Promise<QmdAgent> {
  const { notes = NOTES, qmd = {}, memorySearch = {}, config = {}, env = {}, watch = false, agentId } = options;
  const place = makeHome(notes);
  options.prepare?.(place);
  const client = startRpc({ env });
  running.push(client);
  const hello = await client.call("initialize", {
    ...place,
    watch,
    ...(agentId === undefined ? {} : { agentId }),
    config: { memory: { backend: "qmd", qmd }, agents: { defaults: { memorySearch } }, ...config },
  });
  const search = (params: object = {}): Promise<Json> => client.call("memory.search", { query: "hedgehog", ...params });
  return {
    ...place,
    client,
    hello,
    search,
    async paths(params) {
      const { results } = await search(params);
      return results.map(({ path }: { path: string }) => path).toSorted();
    },
    async changed() {
      for (;;) {
        const message = await client.unasked();
        if (message.method === "memory.changed") return message.params;
      }
    },
    write(files) {
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(place.workspace, path)), { recursive: true });
        writeFileSync(join(place.workspace, path), text);
      }
    },
    sessions: join(place.stateDir, "agents", agentId ?? "main", "sessions"),
  };
}

/** A line of a transcript. */
export function turn(text: string, role = "user"): string {
  return `${JSON.stringify({ type: "message", message: { role, content: [{ type: "text", text }] } })}\n`;
}

/** A service that embeds, and may hang, be slow or fail. */
export type Embedder = {
  /** For the environment of the program. */
  env: { QMD_EMBED_MODEL: string };
  /** Requests so far. */
  requests: number;
  /** Texts that were asked for so far. */
  texts: string[];
  mood: "well" | "hanging" | "failing";
  /** Milliseconds that an answer takes. */
  delayMs: number;
  /** Resolves when a text that holds `part` was asked for. */
  asked(part: string): Promise<void>;
  stop(): Promise<void>;
};

export function startEmbedder(): Embedder {
  const waiting: { part: string; resolve: () => void }[] = [];
  const knows = (part: string): boolean => state.texts.some((text) => text.includes(part));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      state.requests += 1;
      const { input } = (await request.json()) as { input: string | string[] };
      const texts = [input].flat();
      if (state.mood === "failing") return new Response("no such model", { status: 400 });
      state.texts.push(...texts);
      for (const { part, resolve } of waiting) if (knows(part)) resolve();
      if (state.mood === "hanging") return new Promise<Response>(() => {});
      if (state.delayMs > 0) await Bun.sleep(state.delayMs);
      return Response.json({ data: texts.map((text, index) => ({ index, embedding: [...hashedWords(text)] })) });
    },
  });
  const state: Embedder = {
    env: { QMD_EMBED_MODEL: `http://127.0.0.1:${server.port}/v1#stand-in` },
    requests: 0,
    texts: [],
    mood: "well",
    delayMs: 0,
    asked: (part) => (knows(part) ? Promise.resolve() : new Promise((resolve) => waiting.push({ part, resolve }))),
    stop: () => server.stop(true),
  };
  return state;
}
