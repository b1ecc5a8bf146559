import { isAbsolute } from "node:path";
import { MemqError, usageError } from "../../errors.ts";
import { withoutSource } from "../../memory/citations.ts";
import type { MemoryEngine } from "../../memory/engine.ts";
import type { MemoryResult, MemorySearchRequest } from "../../memory/search.ts";
import { notice, styled, writeJson, writeOut } from "../../output.ts";
import { printableName, printableText } from "../../printable.ts";
import type { Invocation } from "../parse.ts";
import { choice, flag, number, value, values } from "../parse.ts";
import { systemHome } from "../../system-folders.ts";
import { withEngine } from "./memory-engine.ts";
import { indexWithProgress } from "./memory-index.ts";

/** `memq memory search QUERY`. */
export function run(invocation: Invocation): Promise<number | void> {
  const request = requestOf(invocation);
  return withEngine(invocation, async (engine) => {
    const isFirst = engine.agent.memory.enabled && engine.isEmpty();
    const said = isFirst ? (await indexWithProgress(engine, false)).embedding.reason : undefined;
    const answer = await engine.search(request);
    const json = flag(invocation, "json");
    if ("denied" in answer || "unavailable" in answer) return refused(engine, answer, json);
    if (answer.warning !== undefined && answer.warning !== said) notice(answer.warning);
    if (flag(invocation, "verbose")) notice(`${answer.mode} search, provider ${answer.provider}`);
    // The citation is a key of its own here; the footer is for those who hand the snippet to a model.
    const results = answer.results.map((result) => ({
      ...result,
      snippet: withoutSource(result.snippet, result.citation),
    }));
    if (results.length === 0) await noteUnindexed(engine, invocation.program);
    if (json) {
      const { degraded, debug } = answer;
      writeJson({
        results,
        ...(degraded === undefined ? {} : { degraded }),
        ...(debug === undefined ? {} : { debug }),
      });
    } else if (results.length === 0) writeOut("No matches.\n");
    else for (const result of results) writeOut(`${textOf(result)}\n\n`);
  });
}

function requestOf(invocation: Invocation): MemorySearchRequest {
  const query = value(invocation, "query") ?? invocation.words.join(" ");
  if (query.trim() === "") {
    throw usageError("Missing search query. Provide a positional query or use --query <text>.");
  }
  const tags = values(invocation, "tag");
  return {
    query,
    maxResults: number(invocation, "max-results"),
    minScore: number(invocation, "min-score"),
    corpus: choice(invocation, "corpus", ["memory", "sessions", "all"]),
    sessionKey: value(invocation, "session-key"),
    byOwner: true,
    chatType: value(invocation, "chat-type"),
    deadlineMs: number(invocation, "deadline"),
    since: value(invocation, "since"),
    until: value(invocation, "until"),
    ...(tags.length === 0 ? {} : { tags }),
    explain: flag(invocation, "explain"),
  };
}

type Refusal = Exclude<Awaited<ReturnType<MemoryEngine["search"]>>, { provider: string }>;

function refused({ agent }: MemoryEngine, answer: Refusal, json: boolean): number | void {
  if (json) writeJson(answer);
  if ("denied" in answer) {
    if (!json) writeOut("No matches.\n");
    return;
  }
  if (!agent.memory.enabled) {
    if (!json) writeOut("Memory search disabled.\n");
    return;
  }
  throw new MemqError("MEMORY_UNAVAILABLE", `Memory search failed: ${answer.error}`, { hint: answer.action });
}

/** Says that nothing was found in what is indexed, where the folders hold more by now. */
async function noteUnindexed(engine: MemoryEngine, program: string): Promise<void> {
  const { comparedFolders } = await import("../../memory/compared-folders.ts");
  const unindexed = await engine.withIndex((index) => comparedFolders(index, engine.agent.home).unindexed);
  if (unindexed === 0) return;
  const files = unindexed === 1 ? "1 file is new or has changed" : `${unindexed} files are new or have changed`;
  notice(`${files} since the last index; '${program} memory index', with the same options, takes up what is in them.`);
}

function textOf(result: MemoryResult): string {
  const { score, path, startLine, endLine, snippet, explain } = result;
  const head = `${styled("green", score.toFixed(3))} ${styled("bold", `${printableName(shortened(path))}:${startLine}-${endLine}`)}`;
  const parts =
    explain === undefined
      ? []
      : [
          styled(
            "dim",
            Object.entries(explain)
              .map(([name, part]) => `${name} ${shown(part)}`)
              .join(" · "),
          ),
        ];
  return [head, ...parts, printableText(snippet)].join("\n");
}

function shown(part: number | null): string {
  if (part === null) return "–";
  return Number.isInteger(part) ? String(part) : part.toFixed(3);
}

function shortened(path: string): string {
  const home = systemHome();
  return isAbsolute(path) && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
