import { ARABIC, CYRILLIC, DEVANAGARI, HAN, HANGUL, HIRAGANA, KATAKANA, LATIN, THAI } from "./scripts.ts";
import type { Language } from "./stopword-lists.ts";
// A macro: its result stands in the program in place of the call.
import { stopWordSurfaces } from "./stopword-lists.ts" with { type: "macro" };
import type { Token } from "./token.ts";

const SURFACES: Readonly<Record<Language, string>> = stopWordSurfaces();

const LANGUAGES_OF: ReadonlyMap<number, readonly Language[]> = new Map<number, Language[]>([
  [LATIN, ["eng", "spa", "por", "fra", "deu", "ita", "nld"]],
  [CYRILLIC, ["rus"]],
  [ARABIC, ["ara"]],
  [DEVANAGARI, ["hin"]],
  [HAN, ["zho"]],
  [HIRAGANA, ["jpn"]],
  [KATAKANA, ["jpn"]],
  [HANGUL, ["kor"]],
  [THAI, ["tha"]],
]);

const sets = new Map<Language, Set<string>>();

/** So many questions are answered from the lists as they stand: a short query asks fewer, and making sets takes longer than these. */
const ASKED_WITHOUT_SET = 100;
let asked = 0;

/** Whether a word, as `surface` of a token, is a stop word of a language. */
export function isStopWord(language: Language, surface: string): boolean {
  if (asked++ < ASKED_WITHOUT_SET) return ` ${SURFACES[language]} `.includes(` ${surface} `);
  return stopWords(language).has(surface);
}

/** Stop words of a language, in the form that words have as `surface` of a token. */
export function stopWords(language: Language): Set<string> {
  let words = sets.get(language);
  if (words === undefined) {
    words = new Set(SURFACES[language].split(" "));
    sets.set(language, words);
  }
  return words;
}

/**
 * The languages whose stop words apply to the tokens of a query, told by script and, where several languages share one, by
 * which list knows most of its words. One word alone proves no language but English: `die` may be German or English.
 */
export function languagesOf(tokens: readonly Token[]): Language[] {
  const scripts = new Set(tokens.map((token) => token.script));
  const languages: Language[] = [];
  const kana = scripts.has(HIRAGANA) || scripts.has(KATAKANA);
  for (const script of scripts) {
    const candidates = LANGUAGES_OF.get(kana && script === HAN ? HIRAGANA : script) ?? [];
    const best = candidates.length < 2 ? candidates[0] : mostLikely(candidates, tokens);
    if (best !== undefined && !languages.includes(best)) languages.push(best);
  }
  return languages;
}

function mostLikely(candidates: readonly Language[], tokens: readonly Token[]): Language {
  let best: Language = "eng";
  let most = 1;
  for (const language of candidates) {
    const count = tokens.filter(({ kind, surface }) => kind === "word" && isStopWord(language, surface)).length;
    if (count > most) {
      most = count;
      best = language;
    }
  }
  return best;
}
