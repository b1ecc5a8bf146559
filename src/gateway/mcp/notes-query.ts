import { existsSync } from "node:fs";
import { nearestName } from "../../edit-distance.ts";
import { MemqError } from "../../errors.ts";
import type { EmbeddingProvider } from "../../embed/types.ts";
import { contextOf } from "../../home/qmd-contexts.ts";
import { onOneLine } from "../../printable.ts";
import { type OpenQmd, searchedCollections } from "../../qmd/open.ts";
import { lineTerms, parsedFor } from "../../qmd/rows.ts";
import { numbered } from "../../qmd/text.ts";
import { deepSearch } from "../../search/deep.ts";
import { searchWithVariants } from "../../search/expansion.ts";
import { hunkOf, type LineTerms } from "../../search/hunk.ts";
import { checkTypedQuery, parseQueryDocument, primaryQuery, type QueryDocument } from "../../search/query-document.ts";
import { openQueryModels, withLeftOut } from "../../search/query-models.ts";
import { search } from "../../search/search.ts";
import type { Hit, SearchAnswer } from "../../search/types.ts";
import { keepLlmAnswers } from "../../store/cache.ts";
import { hasDocuments } from "../../store/documents.ts";
import { servingIdentity } from "../../store/identity.ts";
import { unsyncedCollections } from "../../store/meta.ts";
import type { NotesHome } from "./notes-home.ts";

/** What is asked of the notes: by words, by meaning, or in all of `query`'s stages. */
export type NotesQuestion = {
  how: "words" | "meaning" | "deep";
  document: QueryDocument;
  limit: number;
  minScore: number;
  /** Names of collections; those that the server was started with, or all that are not excluded, when absent. */
  collections?: string[] | undefined;
  candidateLimit?: number | undefined;
  intent?: string | undefined;
  rerank?: boolean | undefined;
  /** Milliseconds that the answer may take. */
  deadlineMs: number;
};

/**
 * One document that was found. `file` is `collection/path`, and `snippet` some of its lines with their numbers, which are `start_line` to
 * `end_line`.
 */
export type NoteRow = {
  docid: string;
  file: string;
  title: string;
  score: number;
  context: string | null;
  line: number;
  snippet: string;
  collection: string;
  path: string;
  start_line: number;
  end_line: number;
};

export type NotesAnswer = { query: string; rows: NoteRow[]; degraded: string[]; warning: string };

const SNIPPET_CHARS = 300;

/** A question in plain words; lines that begin with `lex:`, `vec:`, `hyde:` or `intent:` are those of a query document. */
export function documentOf(query: string): QueryDocument {
  const isTyped = query.split("\n").some((line) => /^\s*(?:lex|vec|hyde|intent|expand):/i.test(line));
  return isTyped ? parseQueryDocument(query) : { kind: "plain", query: onOneLine(query) };
}

/** Answers a question from the notes of a home. Throws `QUERY_SYNTAX` and `COLLECTION_NOT_FOUND`. */
export async function askNotes(notes: NotesHome, named: string[], question: NotesQuestion): Promise<NotesAnswer> {
  const { document } = question;
  if (document.kind === "typed") for (const typed of document.searches) checkTypedQuery(typed);
  const deadline = Date.now() + question.deadlineMs;
  const query = primaryQuery(document);
  const intent = question.intent ?? (document.kind === "typed" ? document.intent : undefined);
  const found = await notes.lendAlone(async (open) => {
    // Agents that fill in every parameter send an empty list for "no choice".
    const asked = [question.collections, named].find((names) => names !== undefined && names.length > 0) ?? [];
    const collections = searchedCollections(open, asked, (name) => collectionNotFound(open, name));
    const meaning = question.how === "words" ? { provider: null } : await notes.provider(open);
    // Before the search: a sync that ends meanwhile must not hide why nothing was found.
    const unsyncedBefore = open.index.state === "ready" ? unsyncedCollections(open.index, collections) : [];
    const answer = await answerOf(notes, open, { ...question, intent }, { collections, deadline, ...meaning });
    const unsynced = unsyncedBefore.filter((name) => !answer.hits.some(({ collection }) => collection === name));
    const terms = lineTerms(answer.parsed ?? parsedFor(open.index, query), intent);
    const left = meaning.reason === undefined ? answer.degraded : ["vector", ...answer.degraded];
    // Another program made it, and another writer kept it from being made ready when it was opened.
    const isRaw = open.index.state === "unprepared" && hasDocuments(open.index);
    const isEmpty = open.index.state !== "ready" && !isRaw && collections.length > 0;
    const isBehind =
      isRaw || open.qmd.home.collections.some(({ name, root }) => unsynced.includes(name) && existsSync(root));
    const reasons = [
      ...unsynced.map((name) => `Nothing of '${name}' is indexed yet.`),
      ...(isEmpty ? ["Nothing is indexed yet; indexing has begun."] : []),
      ...(isRaw ? ["The index is not ready for searching yet; it is being made so."] : []),
      ...(collections.length > 0 ? [] : [noCollections(open) ?? "There is no collection to search."]),
      ...(meaning.reason === undefined ? [] : [meaning.reason]),
      ...(asksForMeaning(question) && !isEmpty && servingIdentity(open.index) === null ? [nothingEmbedded(open)] : []),
      ...answer.notices,
    ];
    return {
      query,
      rows: answer.hits.map((hit) => rowOf(open, hit, terms)),
      degraded: [...new Set(left)],
      warning: reasons.join(" "),
      isBehind: answer.stale || isEmpty || isBehind,
    };
  });
  notes.refresh(found.isBehind);
  return found;
}

/** Whether something is to be found by meaning alone; a plain question gets the words' answer all the same. */
function asksForMeaning({ how, document }: NotesQuestion): boolean {
  return how === "meaning" || (document.kind === "typed" && document.searches.some(({ type }) => type !== "lex"));
}

function nothingEmbedded({ program }: OpenQmd): string {
  return `Nothing is embedded yet, so nothing is found by meaning: run '${program} embed'.`;
}

type Prepared = { collections: string[]; deadline: number; provider: EmbeddingProvider | null };

async function answerOf(
  notes: NotesHome,
  { qmd, index }: OpenQmd,
  question: NotesQuestion,
  { collections, deadline, provider }: Prepared,
): Promise<SearchAnswer> {
  const { home } = qmd;
  const { how, document, minScore, intent } = question;
  const limit = Math.floor(question.limit);
  const common = { collections, deadline, limit, minScore, asOf: Date.now(), profile: home.search };
  if (how === "words") return search({ home, index, provider }, { ...common, query: primaryQuery(document) });
  if (how === "meaning" && provider === null)
    return { hits: [], mode: "keyword", degraded: [], notices: [], stale: false };
  const models = await openQueryModels(index, qmd.models, {
    modelsDir: qmd.places.modelsDir,
    wanted: { expand: document.kind === "plain", rerank: how === "deep" && question.rerank !== false },
  });
  try {
    if (how === "meaning") {
      const profile = { ...home.search, hybrid: false };
      const asked = { ...common, profile, query: primaryQuery(document) };
      return withLeftOut(await searchWithVariants({ home, index, provider }, asked, models.expand), models);
    }
    const answer = await deepSearch(
      { home, index, provider },
      {
        ...common,
        document,
        candidateLimit: question.candidateLimit && Math.floor(question.candidateLimit),
        rrf: false,
        ...(intent === undefined ? {} : { intent }),
        ...(models.expand === undefined ? {} : { expand: models.expand }),
        ...(models.rerank === undefined ? {} : { rerank: models.rerank }),
      },
    );
    return withLeftOut(answer, models);
  } finally {
    models.close();
    if (models.answers.size > 0 && index.state === "ready") {
      notes.later(keepLlmAnswers(qmd.places.indexPath, models.answers));
    }
  }
}

/** What to do where there is no collection at all; null where there are some. */
export function noCollections({ qmd, program }: OpenQmd): string | null {
  return qmd.home.collections.length > 0
    ? null
    : `There is no collection yet: \`${program} collection add FOLDER\` makes one.`;
}

/** Collections that an error names: there may be thousands. */
const MOST_NAMED = 50;

function collectionNotFound(open: OpenQmd, name: string): MemqError {
  const names = open.qmd.home.collections.map((collection) => collection.name);
  const nearest = nearestName(name, names);
  const meant = nearest === undefined ? "" : `Did you mean '${nearest}'? `;
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return new MemqError("COLLECTION_NOT_FOUND", `Collection not found: ${name}.`, {
    hint: noCollections(open) ?? `${meant}There are: ${names.slice(0, MOST_NAMED).join(", ")}${more}.`,
  });
}

function rowOf({ qmd }: OpenQmd, hit: Hit, terms: LineTerms): NoteRow {
  const hunk = hunkOf(hit, SNIPPET_CHARS, terms);
  return {
    docid: `#${hit.hash.slice(0, 6)}`,
    file: `${hit.collection}/${hit.path}`,
    title: hit.title,
    score: Math.round(hit.score * 100) / 100,
    context: contextOf(qmd.config, hit.collection, hit.path) ?? null,
    line: hunk.line,
    // The header is no line of the document and has no number.
    snippet: `${hunk.header}\n${numbered(hunk.text, hunk.startLine)}`,
    collection: hit.collection,
    path: hit.path,
    start_line: hunk.startLine,
    end_line: hunk.endLine,
  };
}
