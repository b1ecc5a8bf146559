import { searchWithVariants } from "../../search/expansion.ts";
import { openQueryModels, withLeftOut } from "../../search/query-models.ts";
import { LEAST_COSINE } from "../../search/threshold.ts";
import { servingIdentity } from "../../store/identity.ts";
import type { Invocation } from "../parse.ts";
import { value } from "../parse.ts";
import { printHits } from "../qmd/answer.ts";
import { limitOf, minScoreOf, noteUnsynced, queryOf, requestOf, scopeOf } from "../qmd/ask.ts";
import { formatOf } from "../qmd/format.ts";
import { openedQmd } from "../qmd/home.ts";
import { deadlineOf, keepAnswers, openQueryProvider, sayWhatWasLeftOut } from "../qmd/meaning.ts";

/**
 * `vsearch QUERY`: by meaning alone, also that of other words where a model writes some. Keywords stand in when the question can't be
 * embedded in time, and that is said.
 */
export async function run(invocation: Invocation): Promise<void> {
  const format = formatOf(invocation);
  const query = queryOf(invocation);
  const limit = limitOf(invocation, format);
  const minScore = minScoreOf(invocation) ?? LEAST_COSINE;
  const deadline = deadlineOf(invocation);
  const open = await openedQmd(invocation);
  const { home } = open.qmd;
  const collections = scopeOf(invocation, open);
  const { provider, degraded } = await openQueryProvider(open);
  if (servingIdentity(open.index) === null) {
    noteUnsynced(open, collections, []);
    return printHits(invocation, open, [], { format, query });
  }
  const request = requestOf(invocation, {
    query,
    collections,
    profile: { ...home.search, hybrid: false },
    limit,
    deadline,
  });
  const models = await openQueryModels(open.index, open.qmd.models, {
    modelsDir: open.qmd.places.modelsDir,
    wanted: { expand: provider !== null, rerank: false },
  });
  const engine = { home, index: open.index, provider };
  const answer = withLeftOut(await searchWithVariants(engine, { ...request, minScore }, models.expand), models);
  noteUnsynced(open, collections, answer.hits);
  sayWhatWasLeftOut(degraded ? { ...answer, degraded: ["vector", ...answer.degraded] } : answer);
  printHits(invocation, open, answer.hits, { format, query, intent: value(invocation, "intent") });
  await keepAnswers(open, models.answers);
}
