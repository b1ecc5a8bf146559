import { ARABIC, CYRILLIC, DEVANAGARI, GREEK, HEBREW, LATIN } from "./scripts.ts";
import { stemEnglish } from "./stem-english.ts";

/** Distinct words of a home are few against its text, so each is stemmed once. */
const stems = new Map<string, string>();
const MAX_STEMS = 60_000;

/**
 * The form that the inflections of a folded word share. It depends on the word and its script alone, never on a guess at the
 * language of a text: a question of three words and the note that answers it must come to the same form. So all languages of a
 * script share one set of rules, made of endings that carry inflection in one of them and do little harm in the others.
 * `stem(stem(w)) = stem(w)`.
 */
export function stem(word: string, script: number): string {
  if (word.length < 3) return word;
  const rules = RULES.get(script);
  if (rules === undefined) return word;
  let form = stems.get(word);
  if (form === undefined) {
    form = fixedPoint(word, rules);
    if (stems.size >= MAX_STEMS) stems.clear();
    stems.set(word, form);
  }
  return form;
}

function fixedPoint(word: string, rules: (word: string) => string): string {
  let form = word;
  for (let next = rules(form); next !== form; next = rules(form)) {
    if (next.length > form.length) return form;
    form = next;
  }
  return form;
}

/**
 * English inflection and derivation first, then what the Romance and Germanic languages add: plural, gender and case vowels
 * (`maestro, maestras`, `palazzo, palazzi`, `Stadt, Städte`), the Portuguese plural `-ções`, the German and Dutch `-en` (but `listen` is
 * no list).
 */
function stemLatin(word: string): string {
  let form = stemEnglish(word.replace(/(?<=..[cs])oes$/, "ao"));
  // `stories` is `story`, and no inflection of what `stor` is the stem of.
  if (form.endsWith("i") && /(?:y|ies|ied)$/.test(word)) return `${form.slice(0, -1)}y`;
  if (form.length > 5 && /(?<!st)en$/.test(form)) form = form.slice(0, -1);
  // Shorter English words would meet others: `plane` and `plan`.
  return form.length > 5 && /[aeio]$/.test(form) ? form.slice(0, -1) : form;
}

// Expressions over other scripts stand inside functions: most processes meet none of them, and making one takes time.

/** Case, gender and number endings after Dolamic and Savoy's light Russian stemmer, which suit the other Slavic languages too, and Ukrainian ones. */
function stemCyrillic(word: string): string {
  const ending =
    /(?<=.{3})(?:иями|оями|оиев|ами|ями|ией|иям|ием|иях|ого|его|ому|ему|ыми|ими|ая|яя|ое|ее|ой|ей|ую|юю|ые|ие|ыи|ии|ый|ий|ым|им|ых|их|ом|ем|ам|ям|ах|ях|ов|ев|ия|ию|ью|ья|ів|ім|іх|іи|а|я|о|е|и|ы|у|ю|ь|і|є)$/u;
  return word.replace(ending, "");
}

/** Larkey's light10: article and conjunctions in front, feminine, dual, plural and possessive endings behind. */
function stemArabic(word: string): string {
  return word
    .replace(/^(?:وال|بال|كال|فال|ال|لل|و(?=.{3}))(?=.{2})/u, "")
    .replace(/(?<=.{2})(?:ها|ان|ات|ون|ين|يه|ه|ي)$/u, "");
}

/**
 * Article, prepositions and conjunctions in front (the article of a root of three letters, others only of longer words, whose own first
 * letter it may be), plural, feminine and construct endings behind.
 */
function stemHebrew(word: string): string {
  const bare = word.replace(/^ה(?=.{3})/u, "").replace(/(?:(?<=.{3})(?:ימ|ות|[הא])|(?<=.{4})ת)+$/u, "");
  return bare.replace(/^[ובכלמש](?=.{4})/u, "");
}

/** Endings after Ramanathan and Rao (2003), in the spelling that folding leaves. */
function stemDevanagari(word: string): string {
  const ending =
    /(?<=.{2})(?:ियां|ियों|ाओं|ुआं|ुओं|ताएं|ताओं|नाएं|नाओं|अताएं|ाएं|ाते|ाति|ाता|ाना|ाने|ानि|एंगे|एंगि|ेगा|ेगि|कर|ते|ति|ता|ना|ने|नि|ों|ें|ां|ो|े|ि|ा|ु|ं)$/u;
  return word.replace(ending, "");
}

/** Case endings of nouns and adjectives: vowels and final sigma go. */
function stemGreek(word: string): string {
  return word.replace(/(?<=.{3})(?:ους|ουσ|ων|ου|οι|ες|εσ|ος|οσ|ης|ησ|ας|ασ|α|η|ο|ι|ε|υ|ω)$/u, "");
}

const RULES = new Map<number, (word: string) => string>([
  [LATIN, stemLatin],
  [CYRILLIC, stemCyrillic],
  [ARABIC, stemArabic],
  [HEBREW, stemHebrew],
  [DEVANAGARI, stemDevanagari],
  [GREEK, stemGreek],
]);
