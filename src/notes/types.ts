/** A run of lines of one document, as cutting yields it. */
export type PassageDraft = {
  /** 0-based position among the document's passages. */
  seq: number;
  /** 1-based, inclusive. */
  startLine: number;
  endLine: number;
  /** UTF-16 offset of the run in the decoded document, and its length in UTF-16 units. */
  pos: number;
  length: number;
  /** What is indexed and embedded: the run, without annotation comments. */
  text: string;
  /**
   * Where the passage joins two pieces of one long line: `text` with a line break between them. It is what OpenClaw hashes, so the
   * key of the embedding cache is made of it; everything else uses `text`.
   */
  hashedText?: string;
  /** Per-entry annotations of `MEMORY.md` and `USER.md`; absent elsewhere. */
  importance?: number;
  triggers?: string[];
  projects?: string[];
};

/** How a home cuts its documents. */
export type Cutting =
  /** Whole lines packed to `maxWeight`, `overlapWeight` of whole lines repeated (weights: one per character, CJK counts more). */
  | { kind: "lines"; maxWeight: number; overlapWeight: number }
  /** As `lines`, one group per list entry or heading: `MEMORY.md` and `USER.md` of an agent. */
  | { kind: "entries"; maxWeight: number; overlapWeight: number }
  /** Characters up to `maxChars`, cut at the best break point within `windowChars` of the end: a qmd home. */
  | { kind: "breakpoints"; maxChars: number; overlapChars: number; windowChars: number };

/** What a note says about itself. */
export type NoteFacts = {
  title: string;
  /** `YYYY-MM-DD`, from front matter only. */
  date?: string;
  tags: string[];
};
