import { indexTokens } from "../search/tokens.ts";

/** An entry of `MEMORY.md` or `USER.md` with its trigger phrases. */
export type TrustedEntry = {
  text: string;
  path: string;
  startLine: number;
  /** The words of each trigger, as `phraseWords` gives them. */
  phrases: string[][];
  /** Project keys that must all be active. */
  projects: string[];
};

export type RecalledEntry = { text: string; path: string; startLine: number; matchScore: number };

/** Below this an entry stays silent; a single-word trigger alone reaches 0.68. */
const MIN_MATCH = 0.65;
/** What a phrase and relevance count in the score, and the phrase below which no relevance reaches it. */
const WEIGHTS = { phrase: 0.8, relevance: 0.2 };
const LEAST_PHRASE = (MIN_MATCH - WEIGHTS.relevance) / WEIGHTS.phrase;
const MAX_CONTEXT_CHARS = 1_800;

/** An entry and how well its best trigger is met. */
export type CalledEntry = { entry: TrustedEntry; phrase: number };

/** The entries of which a message meets a trigger well enough to count; an entry of projects only when all of them are active. */
export function calledEntries(entries: TrustedEntry[], message: string, projectKeys: string[]): CalledEntry[] {
  const words = new Set(phraseWords(message));
  const active = new Set(projectKeys);
  return entries.flatMap((entry) => {
    if (!entry.projects.every((project) => active.has(project))) return [];
    const phrase = Math.max(0, ...entry.phrases.map((phrase) => phraseScore(phrase, words)));
    return phrase < LEAST_PHRASE ? [] : { entry, phrase };
  });
}

/**
 * The entries that a message calls up, best first. The score is `0.8 · best phrase + 0.2 · relevance`, where relevance (0 to 1, by
 * `path:startLine`) says how well the entry answers the message by its words.
 */
export function recalledEntries(
  called: CalledEntry[],
  relevance: Map<string, number>,
  maxEntries: number,
): RecalledEntry[] {
  const recalled: RecalledEntry[] = [];
  for (const { entry, phrase } of called) {
    const { text, path, startLine } = entry;
    const relevant = Math.min(1, Math.max(0, relevance.get(`${path}:${startLine}`) ?? 0));
    const matchScore = WEIGHTS.phrase * phrase + WEIGHTS.relevance * relevant;
    if (matchScore >= MIN_MATCH) recalled.push({ text, path, startLine, matchScore });
  }
  recalled.sort((a, b) => b.matchScore - a.matchScore || compare(a.path, b.path) || a.startLine - b.startLine);
  return recalled.slice(0, maxEntries);
}

/** How well one trigger phrase is met: 0.85 for a single word that is there, else by the share of its words. */
function phraseScore(words: string[], messageWords: Set<string>): number {
  const [first] = words;
  if (first === undefined) return 0;
  if (words.length === 1) return messageWords.has(first) ? 0.85 : 0;
  const overlap = words.filter((word) => messageWords.has(word)).length;
  return overlap === 0 ? 0 : (overlap / words.length) * 0.8 + Math.min(1, overlap / 2) * 0.2;
}

/**
 * The words of a trigger or a message, each once. Single letters, and the last character of a run of an unspaced script, say little
 * beside the words and pairs around them.
 */
export function phraseWords(text: string): string[] {
  const tokens = [...new Set(indexTokens(text))];
  const long = tokens.filter((token) => token.length > 1);
  return long.length > 0 ? long : tokens;
}

/** The recalled entries as the lines that go into an agent's hidden context; "" when there are none. */
export function recallContext(entries: RecalledEntry[]): string {
  let out = "";
  for (const entry of entries) {
    const line = `- ${entry.text
      .replace(/^[-*]\s+/, "")
      .replace(/\s+/g, " ")
      .trim()} (Source: ${entry.path}#L${entry.startLine})\n`;
    if (out.length + line.length > MAX_CONTEXT_CHARS) break;
    out += line;
  }
  return out.trimEnd();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
