import { notice } from "../../output.ts";
import { search } from "../../search/search.ts";
import type { Invocation } from "../parse.ts";
import { value } from "../parse.ts";
import { printHits } from "../qmd/answer.ts";
import { limitOf, minScoreOf, noteUnsynced, queryOf, requestOf, scopeOf } from "../qmd/ask.ts";
import { formatOf } from "../qmd/format.ts";
import { openedQmd } from "../qmd/home.ts";

/** Reading an index can't be stopped halfway: the keyword leg takes milliseconds. */
const DEADLINE_MS = 60_000;

/** `search QUERY`: keywords only, no model is ever asked. */
export async function run(invocation: Invocation): Promise<void> {
  const format = formatOf(invocation);
  const query = queryOf(invocation);
  const limit = limitOf(invocation, format);
  const minScore = minScoreOf(invocation) ?? 0;
  const open = await openedQmd(invocation);
  const { home } = open.qmd;
  const request = requestOf(invocation, {
    query,
    collections: scopeOf(invocation, open),
    profile: home.search,
    limit,
    deadline: Date.now() + DEADLINE_MS,
  });
  const answer = await search({ home, index: open.index, provider: null }, { ...request, minScore });
  const belowMinimum =
    minScore > 0 &&
    answer.hits.length === 0 &&
    (await search({ home, index: open.index, provider: null }, { ...request, limit: 1 })).hits.length > 0;
  noteUnsynced(open, request.collections, answer.hits);
  for (const sentence of answer.notices) notice(sentence);
  const { parsed } = answer;
  printHits(invocation, open, answer.hits, {
    format,
    query,
    parsed,
    intent: value(invocation, "intent"),
    belowMinimum,
  });
}
