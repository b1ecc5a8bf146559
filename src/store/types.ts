import type { Database } from "bun:sqlite";
import type { PassageDraft } from "../notes/types.ts";

/** What is configured about the vector extension of SQLite: whether it is used, and the absolute path of another one than ours. */
export type VecExtension = { enabled: boolean; path?: string };

/** One file as the index knows it. */
export type DocumentRow = {
  id: number;
  collection: string;
  /** Literal path relative to the collection's root, `/` between parts. */
  path: string;
  title: string;
  /** SHA-256 (hex) of the decoded text; its first six digits are the docid. */
  hash: string;
  /** Milliseconds since 1970, fractional as the file system gives it. */
  mtimeMs: number;
  size: number;
  /** `YYYY-MM-DD` of front matter; dates in names are read from `path`. */
  date: string | null;
  tags: string[];
};

/** Where a document is. */
export type DocumentPath = Pick<DocumentRow, "id" | "collection" | "path">;

/** What a sync needs to know of a document to see whether its file has changed. */
export type KnownDocument = Pick<DocumentRow, "id" | "path" | "hash" | "mtimeMs" | "size">;

/** What a sync hands over for one new or changed file. */
export type DocumentDraft = {
  collection: string;
  path: string;
  title: string;
  hash: string;
  /** The decoded text; stored once per hash. */
  text: string;
  size: number;
  mtimeMs: number;
  birthtimeMs: number;
  date: string | null;
  tags: string[];
  passages: PassageToStore[];
};

/** A passage with what the index keeps of it. */
export type PassageToStore = PassageDraft & {
  /** Index tokens of `text` joined by blanks (search/tokens). */
  tokens: string;
  /** Index tokens of title and path, joined by blanks: lets a question find a note by its name. */
  nameTokens: string;
  /** SHA-256 (hex) of `text`: the key of the embedding cache. */
  textHash: string;
  /** Key of its vector, `<hash>_<seq>`: `<textHash>_0` in an agent home, qmd's `<document hash>_<seq>` in a qmd home. */
  vectorKey: string;
};

/** A stored passage, without its text: that is `passageText(document text, pos, length)`. */
export type PassageRow = {
  id: number;
  documentId: number;
  seq: number;
  startLine: number;
  endLine: number;
  pos: number;
  length: number;
  textHash: string;
  vectorKey: string;
  importance: number | null;
  triggers: string[] | null;
  projects: string[] | null;
};

/** What identifies the vectors in the index: any difference means that they belong to another space. */
export type VectorIdentity = {
  provider: string;
  model: string;
  endpoint: string;
  dimensions: number | null;
  documentInputType: string | null;
  promptForm: string;
  cutting: string;
  /** Tells the GGUF file that made them from others of its name; absent where that is not known, and of remote models. */
  weights?: string;
  /** Six hex digits that stand for all of the above in `content_vectors.embed_fingerprint`; qmd's own for its models. */
  fingerprint: string;
};

/** An open index; what `openIndex` returns and every function of the store takes first. */
export type Index = {
  readonly db: Database;
  readonly path: string;
  readonly mode: "read" | "write";
  /**
   * `ready`; `unprepared` when memq has not written to the file yet (qmd or OpenClaw made it): documents are found, passages
   * are not; `missing` or `damaged`: answers as an empty index. A reader reopens after the next update.
   */
  readonly state: "ready" | "unprepared" | "missing" | "damaged";
  /** Whether qmd has opened the file since we last wrote: documents that it added have no passages yet. */
  readonly isShared: boolean;
  /** The inode of the file, taken before it was opened: whoever has put another one in its place since does not change it. */
  readonly inode: number;
  /** Of a connection that takes the file for one that never changes: the file as it then was. Null of all others. */
  readonly frozenAt: string | null;
  /** Sentences for people: what was set aside, and why. */
  readonly warnings: string[];
  /** How vectors are searched; null until vectors were needed. */
  engine: "vec0" | "packed" | null;
  /** Whether and from where sqlite-vec is loaded; as built in when absent. */
  readonly extension?: VecExtension | undefined;
  /** Why the configured sqlite-vec could not be loaded, in one sentence. */
  extensionError?: string;
  /** In-memory codes of a process that stays alive; see `keepVectorCodes`. */
  codes: VectorCodes | null;
  close(): void;
};

/** What a search is confined to: collections by name, and if given, documents by id. No collection means nothing. */
export type Scope = {
  collections: readonly string[];
  documentIds?: readonly number[];
};

/** Consecutive index tokens. */
export type KeywordPhrase = { tokens: readonly string[] };

/** What a passage must hold to be a keyword candidate: one of `any` (if there are some), each of `all`, none of `none`. */
export type KeywordMatch = {
  any: readonly KeywordPhrase[];
  all?: readonly KeywordPhrase[];
  none?: readonly KeywordPhrase[];
};

export type KeywordCandidate = {
  passageId: number;
  documentId: number;
  /** FTS5's BM25, lower is better, always negative. */
  rank: number;
};

export type VectorCandidate = {
  passageId: number;
  documentId: number;
  vectorKey: string;
  /** Cosine with the query, −1 to 1. */
  cosine: number;
};

/** A passage that has no vector yet in the wanted identity. */
export type MissingVector = {
  passageId: number;
  documentId: number;
  seq: number;
  pos: number;
  length: number;
  textHash: string;
  vectorKey: string;
  /** Hash of the document: its text is `contentText(index, documentHash)`. */
  documentHash: string;
};

/** A new vector, ready to be stored. */
export type VectorToStore = { vectorKey: string; textHash: string; vector: Float32Array };

/** One-bit codes of all vectors; see `vector-codes.ts`. */
export type VectorCodes = {
  /** About `count` passages in scope whose codes are closest to the query's, with their exact cosines, in no order. */
  closest(query: Float32Array, scope: Scope, count: number): VectorCandidate[];
  /** Builds or brings up to date in slices of a few milliseconds, so that the process answers others meanwhile. */
  warm(): Promise<void>;
};
