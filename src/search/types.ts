import type { ParsedQuery } from "./query.ts";
import type { NoteFilter } from "./filters.ts";
import type { MemqError } from "../errors.ts";
import type { SearchProfile } from "../home/types.ts";
import type { Snippet } from "./snippet.ts";

/** What is asked; times are milliseconds since 1970. */
export type SearchRequest = NoteFilter & {
  query: string;
  profile: SearchProfile;
  /** Rows wanted. */
  limit: number;
  /** Given in the call: strict. Absent: `profile.minScore`, which keyword hits may undercut. */
  minScore?: number;
  /** Names of the collections searched; an empty list finds nothing. */
  collections: string[];
  /** The clock that recency uses. */
  asOf: number;
  /** When the answer must go out. */
  deadline: number;
  explain?: boolean;
  /** Hits whose file is gone are answered all the same. */
  keepGone?: boolean;
};

/** Relevance of each text to the query, 0 to 1, in their order. */
export type Reranker = (query: string, texts: string[], signal: AbortSignal) => Promise<number[]>;

/** A passage with its score and the parts of that score. */
export type Hit = {
  passageId: number;
  documentId: number;
  collection: string;
  path: string;
  title: string;
  hash: string;
  startLine: number;
  endLine: number;
  /** Where the passage stands in `body`, in UTF-16 units. */
  pos: number;
  length: number;
  score: number;
  vectorScore?: number;
  textScore?: number;
  /** The whole passage. */
  text: string;
  /** The whole document that the passage was cut from: as the file is now, of a transcript or a gone file as indexed. */
  body: string;
  /** What is printed of it, with its own lines. */
  snippet: Snippet;
  importance?: number;
  triggers?: string[];
  explain?: HitExplanation;
};

export type HitExplanation = {
  bm25: number | null;
  cosine: number | null;
  key: number;
  level: number;
  recency: number;
  importance: number;
  /** 3 exact path, 2 base name, 1 stem, 0 none. */
  nameTier: 0 | 1 | 2 | 3;
  /** What the reranker said, where it was asked. */
  rerank?: number;
};

export type SearchAnswer = {
  hits: Hit[];
  mode: "hybrid" | "keyword" | "vector";
  /** Legs or stages left out: `vector`, `rerank`, … */
  degraded: string[];
  /** Why, in sentences, for people. */
  notices: string[];
  /** A file that was found has changed or gone since the last sync. */
  stale: boolean;
  /** The query as it was searched for; of several the first, as typed. */
  parsed?: ParsedQuery;
  /** Set when the provider answered with an error: see `failureMakesUnavailable`. */
  providerFailure?: MemqError;
};
