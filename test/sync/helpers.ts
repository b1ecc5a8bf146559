import { mkdirSync, realpathSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import type { Collection, Home } from "../../src/home/types.ts";
import { passageText } from "../../src/notes/passage-text.ts";
import { contentText, documentsIn } from "../../src/store/documents.ts";
import { openIndex } from "../../src/store/open.ts";
import { passagesOf } from "../../src/store/passages.ts";
import { temporaryFolder } from "../temporary.ts";

/** A folder of the test's own, under its real path. */
export function tempFolder(): string {
  return realpathSync(temporaryFolder("sync-"));
}

/** Writes files; their times lie an hour back, as those of notes mostly do, so that only their sizes and times need to vouch. */
export function writeNotes(root: string, notes: Record<string, string | Uint8Array>): void {
  for (const [path, content] of Object.entries(notes)) {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    const hourAgo = Date.now() / 1000 - 3600;
    utimesSync(file, hourAgo, hourAgo);
  }
}

export function collectionOf(root: string, overrides: Partial<Collection> = {}): Collection {
  return {
    name: "memory",
    root,
    patterns: ["**/*.md"],
    ignore: [],
    source: "memory",
    followLinks: false,
    hidden: true,
    includeByDefault: true,
    pathPrefix: "",
    ...overrides,
  };
}

/** An agent's home with one collection over `root`, its index in a folder of its own. */
export function homeOf(root: string, overrides: Partial<Home> = {}): Home {
  return {
    kind: "agent",
    indexPath: join(tempFolder(), "index.sqlite"),
    collections: [collectionOf(root)],
    cutting: { kind: "lines", maxWeight: 1600, overlapWeight: 320 },
    issues: [],
    embedding: {
      provider: "none",
      explicit: false,
      fallback: "none",
      headers: {},
      credentials: {},
      authStore: "",
      local: {},
      batch: { enabled: false, wait: true, concurrency: 1, pollIntervalMs: 1, timeoutMinutes: 1 },
      cache: { enabled: true, maxEntries: 1000 },
      onFailure: "keyword",
      multimodal: false,
    },
    search: {
      maxResults: 6,
      minScore: 0,
      fusion: "relative",
      textScore: "bm25",
      vectorWeight: 0.5,
      textWeight: 0.5,
      pool: 200,
      hybrid: true,
      names: true,
      importance: true,
      recency: { mode: "off", halfLifeDays: 30, floor: 0, undated: "evergreen" },
      mmr: { enabled: false, lambda: 0.7 },
      unit: "passages",
      grammar: "plain",
      snippetChars: 700,
    },
    ...overrides,
  };
}

export function qmdHomeOf(root: string, overrides: Partial<Collection> = {}): Home {
  const collection = collectionOf(root, {
    name: "notes",
    source: "notes",
    followLinks: true,
    hidden: false,
    ...overrides,
  });
  return homeOf(root, {
    kind: "qmd",
    collections: [collection],
    cutting: { kind: "breakpoints", maxChars: 2700, overlapChars: 405, windowChars: 600 },
  });
}

/** All that an index says of its documents, without ids and times of writing. */
export function contentsOf(home: Home): Record<string, { hash: string; title: string; passages: string[] }> {
  const index = openIndex(home.indexPath, { mode: "read" });
  try {
    const documents = documentsIn(
      index,
      home.collections.map(({ name }) => name),
    );
    return Object.fromEntries(
      documents.map(({ id, collection, path, hash, title }) => {
        const text = contentText(index, hash) ?? "";
        const passages = passagesOf(index, id).map(
          (row) => `${row.startLine}-${row.endLine} ${passageText(text, row.pos, row.length)} ${row.textHash}`,
        );
        return [`${collection}/${path}`, { hash, title, passages }];
      }),
    );
  } finally {
    index.close();
  }
}

/** A provider that counts what it is sent; a text's vector is made of its length. */
export function countingProvider(overrides: Partial<EmbeddingProvider> = {}): EmbeddingProvider & { texts: string[] } {
  const texts: string[] = [];
  const vector = (text: string): Float32Array => Float32Array.of(1, text.length, 0.5);
  return {
    texts,
    id: "counting",
    local: false,
    model: "lengths",
    endpoint: "",
    dimensions: null,
    documentInputType: null,
    promptForm: "plain",
    fingerprint: "c0ffee",
    maxInputBytes: 8000,
    media: false,
    embedQuery: async (text) => vector(text),
    async embedDocuments(inputs, _signal, report) {
      texts.push(...inputs.map(({ text }) => text));
      const vectors = inputs.map(({ text }) => vector(text));
      await report?.onVectors?.([...inputs.keys()], vectors);
      return vectors;
    },
    close: async () => {},
    ...overrides,
  };
}
