import { openProvider } from "../../embed/registry.ts";
import type { EmbeddingProvider } from "../../embed/types.ts";
import { untrustedNotice } from "../../home/trust.ts";
import { isOnTerminal, notice } from "../../output.ts";
import { allowedTime } from "../../qmd/deadline.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import { documentCounts } from "../../store/documents.ts";
import { keepLlmAnswers } from "../../store/cache.ts";
import { servingIdentity } from "../../store/identity.ts";
import { missingVectorCounts } from "../../store/vectors.ts";
import type { Invocation } from "../parse.ts";
import { number } from "../parse.ts";

/** How long a search that asks models may take: a gateway gives up at four seconds, a person waits longer. */
const DEADLINE_MS = { piped: 3000, terminal: 30_000 };

/** What printing and ending take at most, and which share of a short deadline is kept for them. */
const ENDING = { ms: 150, share: 0.1 };

/** When the answer must be printed, in milliseconds since 1970, so that the process has ended as long after its start as is allowed. */
export function deadlineOf(invocation: Invocation): number {
  const otherwise = isOnTerminal() ? DEADLINE_MS.terminal : DEADLINE_MS.piped;
  const allowed = allowedTime(number(invocation, "deadline"), otherwise);
  return Math.round(performance.timeOrigin + allowed - Math.min(ENDING.ms, allowed * ENDING.share));
}

/** The provider that embeds questions; null where nothing is embedded that they could be compared with, or none can be had. */
export type QueryProvider = { provider: EmbeddingProvider | null; degraded: boolean };

/** Opens the provider, and says on stderr what is not embedded, what is not trusted, and why there is no provider. */
export async function openQueryProvider(open: OpenQmd): Promise<QueryProvider> {
  const { qmd, index, program } = open;
  if (qmd.trust.state === "untrusted") for (const line of untrustedNotice(qmd.trust, program)) notice(line);
  const serving = servingIdentity(index);
  sayHowTheIndexIs(open);
  if (serving === null) return { provider: null, degraded: false };
  const { provider, reason } = await openProvider(qmd.home.embedding, { kind: "qmd", env: process.env });
  if (provider !== undefined) return { provider, degraded: false };
  if (reason !== undefined) notice(reason);
  return { provider: null, degraded: true };
}

/** From then on qmd calls an index old: whole days since its newest document was changed. */
const OLD_DAYS = 14;
const DAY_MS = 86_400_000;

/** qmd's words about documents without a vector, and about an index whose newest document is old. */
function sayHowTheIndexIs({ index, program }: OpenQmd): void {
  const serving = servingIdentity(index);
  const counts = documentCounts(index);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const missing = serving === null ? total : missingVectorCounts(index, serving).documents;
  if (missing > 0) {
    const percent = Math.round((missing / total) * 100);
    notice(
      percent >= 10
        ? `Warning: ${missing} documents (${percent}%) need embeddings. Run '${program} embed' for better results.`
        : `Tip: ${missing} documents need embeddings. Run '${program} embed' to index them.`,
    );
  }
  const newest = Math.max(...counts.map(({ updatedAt }) => Date.parse(updatedAt)).filter(Number.isFinite));
  const days = Math.floor((Date.now() - newest) / DAY_MS);
  if (total > 0 && days >= OLD_DAYS) {
    notice(`Tip: Index last updated ${days} days ago. Run '${program} update' to refresh.`);
  }
}

/** Says on stderr what an answer was made without, and why. */
export function sayWhatWasLeftOut({ degraded, notices }: { degraded: string[]; notices: string[] }): void {
  const reasons = notices.join(" ");
  if (degraded.length > 0) notice(`Degraded answer, without ${degraded.join(" and ")}. ${reasons}`.trimEnd());
  else if (reasons !== "") notice(reasons);
}

/** Where the answer is out, keeps what models said for the next time. */
export async function keepAnswers({ index, qmd }: OpenQmd, answers: ReadonlyMap<string, string>): Promise<void> {
  if (answers.size === 0 || index.state !== "ready") return;
  index.close();
  await keepLlmAnswers(qmd.places.indexPath, answers);
}
