import { deepSearch } from "../search/deep.ts";
import { openQueryModels, withLeftOut } from "../search/query-models.ts";
import type { SearchEngine } from "../search/search.ts";
import type { SearchAnswer, SearchRequest } from "../search/types.ts";
import { keepLlmAnswers } from "../store/cache.ts";
import type { ServingQmd } from "./backend.ts";

/**
 * Answers as qmd's `query`: asked in other words and judged again where the models for that are on this machine. A stage whose model
 * has not answered by the deadline is left out and named in `degraded`.
 */
export async function searchInStages(
  engine: SearchEngine,
  request: SearchRequest,
  { models, places, reranks }: Pick<ServingQmd, "models" | "places"> & { reranks: boolean },
): Promise<SearchAnswer> {
  const { query, ...common } = request;
  const opened = await openQueryModels(engine.index, models, {
    modelsDir: places.modelsDir,
    wanted: { expand: true, rerank: reranks },
  });
  try {
    const answer = await deepSearch(engine, {
      ...common,
      document: { kind: "plain", query },
      rrf: false,
      ...(opened.expand === undefined ? {} : { expand: opened.expand }),
      ...(opened.rerank === undefined ? {} : { rerank: opened.rerank }),
    });
    return withLeftOut(answer, opened);
  } finally {
    opened.close();
    // What models said is kept for the next time, and nobody waits for it.
    if (opened.answers.size > 0 && engine.index.state === "ready")
      setImmediate(() => void keepLlmAnswers(engine.home.indexPath, opened.answers));
  }
}
