import { notice } from "../../output.ts";
import { type DeepRequest, deepSearch } from "../../search/deep.ts";
import { explanationLines } from "../../search/deep-explanation.ts";
import { parseQueryDocument, primaryQuery } from "../../search/query-document.ts";
import { openQueryModels, withLeftOut } from "../../search/query-models.ts";
import type { Invocation } from "../parse.ts";
import { choice, flag, number, value } from "../parse.ts";
import { printHits } from "../qmd/answer.ts";
import { limitOf, minScoreOf, noteUnsynced, queryOf, requestOf, scopeOf } from "../qmd/ask.ts";
import { formatOf } from "../qmd/format.ts";
import { openedQmd } from "../qmd/home.ts";
import { deadlineOf, keepAnswers, openQueryProvider, sayWhatWasLeftOut } from "../qmd/meaning.ts";

/** `query QUERY`: by words and by meaning, asked in other words and judged again where models for that are here. */
export async function run(invocation: Invocation): Promise<void> {
  const format = formatOf(invocation);
  const document = parseQueryDocument(queryOf(invocation));
  const query = primaryQuery(document);
  const intent = value(invocation, "intent") ?? (document.kind === "typed" ? document.intent : undefined);
  const limit = limitOf(invocation, format);
  const minScore = minScoreOf(invocation) ?? 0;
  const fusion = choice(invocation, "fusion", ["relative", "weighted", "rrf"]) ?? "relative";
  const candidateLimit = number(invocation, "candidate-limit");
  const deadline = deadlineOf(invocation);

  const open = await openedQmd(invocation);
  const { home } = open.qmd;
  const rule = fusion === "weighted" ? { fusion, vectorWeight: 0.7, textWeight: 0.3 } : { fusion: "relative" as const };
  const common = requestOf(invocation, {
    query,
    collections: scopeOf(invocation, open),
    profile: { ...home.search, ...rule },
    limit,
    deadline,
  });
  const { provider, degraded } = await openQueryProvider(open);
  const models = await openQueryModels(open.index, open.qmd.models, {
    modelsDir: open.qmd.places.modelsDir,
    wanted: { expand: document.kind === "plain", rerank: !flag(invocation, "no-rerank") },
  });
  const request: DeepRequest = {
    ...common,
    document,
    minScore,
    candidateLimit,
    rrf: fusion === "rrf",
    explain: flag(invocation, "explain"),
    ...(intent === undefined ? {} : { intent }),
    ...(models.expand === undefined ? {} : { expand: models.expand }),
    ...(models.rerank === undefined ? {} : { rerank: models.rerank }),
  };
  const answer = withLeftOut(await deepSearch({ home, index: open.index, provider }, request), models);
  if (answer.strongSignal !== undefined) {
    notice(`Strong BM25 signal (${answer.strongSignal.toFixed(2)}) — skipping expansion`);
  }
  noteUnsynced(open, request.collections, answer.hits);
  sayWhatWasLeftOut(degraded ? { ...answer, degraded: ["vector", ...answer.degraded] } : answer);
  const { explanations, parsed } = answer;
  printHits(invocation, open, answer.hits, {
    format,
    query,
    parsed,
    intent,
    ...(explanations === undefined
      ? {}
      : {
          explain: ({ documentId }) => {
            const explanation = explanations.get(documentId);
            return explanation && { json: explanation, lines: explanationLines(explanation) };
          },
        }),
  });
  await keepAnswers(open, models.answers);
}
