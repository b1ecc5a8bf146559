import type { PassageDraft } from "../notes/types.ts";

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
  /** Six hex digits that stand for all of the above in `content_vectors.embed_fingerprint`; qmd's own for its models. */
  fingerprint: string;
};
