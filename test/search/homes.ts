import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import { type AgentHome, resolveAgentHome } from "../../src/home/agent-home.ts";
import type { JsonObject } from "../../src/json.ts";
import type { Home } from "../../src/home/types.ts";
import { search } from "../../src/search/search.ts";
import type { SearchAnswer, SearchRequest } from "../../src/search/types.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { temporaryFolder } from "../temporary.ts";

/** An agent's workspace in a temporary folder, as its notes say: relative path → text, or text and modification time. */
export type Notes = Record<string, string | { text: string; mtimeMs: number }>;

export type TestHome = {
  home: Home;
  workspace: string;
  provider: EmbeddingProvider | null;
  index: Index;
  /** Writes notes beside the index's back. */
  write: (notes: Notes) => void;
  /** Brings the index up to date. */
  sync: () => Promise<void>;
  ask: (query: string, over?: Partial<SearchRequest>) => Promise<SearchAnswer>;
  close: () => void;
};

/** Makes, indexes and opens a home; every search asks its default profile and all its collections unless told otherwise. */
export async function testHome(
  notes: Notes,
  options: { config?: JsonObject; provider?: EmbeddingProvider | null } = {},
): Promise<TestHome> {
  const folder = temporaryFolder("search-");
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  writeNotes(workspace, notes);
  const { home }: AgentHome = await resolveAgentHome({
    workspace,
    stateDir: join(folder, "state"),
    config: options.config ?? {},
    env: { HOME: folder },
    cwd: folder,
    withKeys: false,
  });
  const provider = options.provider ?? null;
  const sync = async (): Promise<void> => {
    await syncIndex(home, { embed: provider !== null, ...(provider ? { provider } : {}) });
  };
  await sync();
  const index = openIndex(home.indexPath, { mode: "read" });
  return {
    home,
    workspace,
    provider,
    index,
    write: (more) => writeNotes(workspace, more),
    sync,
    ask: (query, over = {}) => search({ home, index, provider }, requestOf(home, query, over)),
    close: () => {
      index.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function requestOf(home: Home, query: string, over: Partial<SearchRequest> = {}): SearchRequest {
  return {
    query,
    profile: home.search,
    limit: over.profile?.maxResults ?? home.search.maxResults,
    collections: home.collections.map((collection) => collection.name),
    asOf: Date.now(),
    deadline: Date.now() + 5000,
    ...over,
  };
}

function writeNotes(root: string, notes: Notes): void {
  for (const [path, note] of Object.entries(notes)) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof note === "string" ? note : note.text);
    if (typeof note !== "string") utimesSync(file, new Date(note.mtimeMs), new Date(note.mtimeMs));
  }
}

/** A provider of vectors that a function gives to each text; remote unless told otherwise. */
export function standIn(
  vectorOf: (text: string) => Float32Array,
  over: Partial<EmbeddingProvider> = {},
): EmbeddingProvider {
  return {
    id: "openai",
    local: false,
    model: "text-embedding-3-small",
    endpoint: "http://127.0.0.1:1/v1",
    dimensions: null,
    documentInputType: null,
    promptForm: "plain",
    fingerprint: "abcdef",
    maxInputBytes: 8000,
    media: false,
    embedQuery: async (text) => vectorOf(text),
    embedDocuments: async (inputs, _signal, report) => {
      const vectors = inputs.map(({ text }) => vectorOf(text));
      await report?.onVectors?.(
        inputs.map((_, index) => index),
        vectors,
      );
      return vectors;
    },
    close: async () => {},
    ...over,
  };
}

/**
 * The recordings' embedding server: each run of letters and digits, lower-cased, adds ±1 in dimension FNV-1a mod 256, minus
 * where the hash's top bit is set; the sum has length 1.
 */
export function hashedWords(text: string): Float32Array {
  const vector = new Float32Array(256);
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    let hash = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(word)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    vector[hash % 256]! += hash >>> 31 === 1 ? -1 : 1;
  }
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}
