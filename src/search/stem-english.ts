/** Irregular forms by what a question uses (`when did she go`) and what a note says (`she went`). */
const IRREGULAR_FORMS =
  "be was were been am is are|become became|begin began begun|bend bent|bind bound|bite bit bitten|bleed bled|blow blew blown|" +
  "break broke broken|breed bred|bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|" +
  "creep crept|deal dealt|dig dug|do did done does|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|" +
  "eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled|fly flew flown|forbid forbade forbidden|" +
  "forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone goes|" +
  "grow grew grown|hang hung|have had has|hear heard|hide hid hidden|hold held|keep kept|kneel knelt|know knew known|lay laid|" +
  "lead led|leap leapt|learn learnt|leave left|lend lent|light lit|lose lost|make made|mean meant|meet met|mistake mistook " +
  "mistaken|overcome overcame|pay paid|prove proven|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|" +
  "see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|" +
  "sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|sow sown|mow mown|sew sewn|swell swollen|speak spoke spoken|spend spent|spin spun|spring sprang sprung|" +
  "stand stood|steal stole stolen|stick stuck|strike struck stricken|strive strove striven|swear swore sworn|sweep swept|" +
  "swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown|" +
  "understand understood|undertake undertook undertaken|wake woke woken|wear wore worn|weave wove woven|weep wept|win won|" +
  "withdraw withdrew withdrawn|write wrote written|rewrite rewrote rewritten|" +
  "child children|foot feet|goose geese|man men|mouse mice|tooth teeth|woman women|person people|life lives|wife wives|" +
  "leaf leaves|knife knives|half halves|shelf shelves|wolf wolves|loaf loaves|thief thieves|index indices|matrix matrices|" +
  "vertex vertices|analysis analyses|crisis crises|hypothesis hypotheses|thesis theses|diagnosis diagnoses|basis bases|" +
  "criterion criteria|phenomenon phenomena|datum data|bacterium bacteria|" +
  "die dying|lie lying|tie tying|" +
  // Not made of what they seem to be made of.
  "early early|only only|news news|bias bias|atlas atlas|proceed proceed|exceed exceed|succeed succeed|inning inning|evening evening";

/** Base forms that begin with `start`, each with its irregular forms. */
export function irregularRows(start: string): string[][] {
  const rows = IRREGULAR_FORMS.split("|");
  return rows.filter((row) => row.startsWith(start)).map((row) => row.split(" "));
}

/** So many words are looked up in the list as it stands: a query asks for fewer, and making a map takes longer than these. */
const ASKED_WITHOUT_MAP = 100;
let asked = 0;
let irregular: Map<string, string> | undefined;

/** The base form of an irregular form, or undefined. */
function irregularBase(word: string): string | undefined {
  if (asked++ >= ASKED_WITHOUT_MAP) return (irregular ??= basesOfForms()).get(word);
  const ends = [" ", "|"].map((end) => `${IRREGULAR_FORMS}|`.indexOf(` ${word}${end}`));
  const at = Math.max(...ends);
  if (at < 0) return undefined;
  const row = IRREGULAR_FORMS.lastIndexOf("|", at) + 1;
  return IRREGULAR_FORMS.slice(row, IRREGULAR_FORMS.indexOf(" ", row));
}

function basesOfForms(): Map<string, string> {
  const bases = new Map<string, string>();
  for (const row of IRREGULAR_FORMS.split("|")) {
    const [base = "", ...forms] = row.split(" ");
    for (const form of forms) bases.set(form, base);
  }
  return bases;
}

const VOWEL = /[aeiouy]/;
const DOUBLE = /(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/;
/** A vowel after a consonant at the beginning, or a vowel between consonants (the last not w, x or y) at the end. */
const SHORT_SYLLABLE = /^[aeiouy][^aeiouy]$|[^aeiouy][aeiouy][^aeiouywxY]$/;

/** Where what follows the first vowel and consonant begins; `from` a position to start at. */
function region(word: string, from: number): number {
  let index = from;
  while (index < word.length && !VOWEL.test(word[index]!)) index++;
  while (index < word.length && VOWEL.test(word[index]!)) index++;
  return Math.min(index + 1, word.length);
}

/** The second Porter stemmer ("English" of snowballstem.org), with irregular forms; a lower-case word without accents. */
export function stemEnglish(word: string): string {
  if (word.length < 3) return word;
  const base = irregularBase(word);
  if (base === word) return word;
  let form = (base ?? word).replace(/^y|(?<=[aeiouy])y/g, "Y");
  const prefix = /^(gener|commun|arsen)/.exec(form)?.[0].length;
  const r1 = prefix ?? region(form, 0);
  const r2 = region(form, r1);
  form = withoutPlural(form);
  form = withoutTense(form, r1);
  form = form.replace(/(?<=.[^aeiouy])[yY]$/, "i");
  form = replaceEnding(form, STEP_2, r1, r2);
  form = replaceEnding(form, STEP_3, r1, r2);
  form = replaceEnding(form, STEP_4, r2, r2);
  return withoutFinal(form, r1, r2).replaceAll("Y", "y");
}

function withoutPlural(word: string): string {
  if (word.endsWith("sses")) return word.slice(0, -2);
  if (/ie[sd]$/.test(word)) return word.slice(0, word.length > 4 ? -2 : -1);
  if (/(us|ss)$/.test(word) || !word.endsWith("s")) return word;
  return VOWEL.test(word.slice(0, -2)) ? word.slice(0, -1) : word;
}

function withoutTense(word: string, r1: number): string {
  const eed = /eed(ly)?$/.exec(word);
  if (eed) return eed.index >= r1 ? word.slice(0, eed.index + 2) : word;
  const ending = /(ed|ing)(ly)?$/.exec(word);
  if (!ending || !VOWEL.test(word.slice(0, ending.index))) return word;
  const form = word.slice(0, ending.index);
  if (/(at|bl|iz)$/.test(form)) return `${form}e`;
  if (DOUBLE.test(form)) return form.slice(0, -1);
  return SHORT_SYLLABLE.test(form) && r1 >= form.length ? `${form}e` : form;
}

function withoutFinal(word: string, r1: number, r2: number): string {
  const last = word.length - 1;
  if (word.endsWith("e")) {
    const removed = last >= r2 || (last >= r1 && !SHORT_SYLLABLE.test(word.slice(0, -1)));
    return removed ? word.slice(0, -1) : word;
  }
  return word.endsWith("ll") && last >= r2 ? word.slice(0, -1) : word;
}

type Ending = [ending: string, replacement: string, after?: RegExp];

/** Longest endings first; `after` is what must stand before the ending. */
const STEP_2: Ending[] = [
  ["ization", "ize"],
  ["ational", "ate"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["iveness", "ive"],
  ["tional", "tion"],
  ["biliti", "ble"],
  ["lessli", "less"],
  ["entli", "ent"],
  ["ation", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["ousli", "ous"],
  ["iviti", "ive"],
  ["fulli", "ful"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["abli", "able"],
  ["izer", "ize"],
  ["ator", "ate"],
  ["alli", "al"],
  ["bli", "ble"],
  ["ogi", "og", /l$/],
  ["li", "", /[cdeghkmnrt]$/],
];
const STEP_3: Ending[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["alize", "al"],
  ["icate", "ic"],
  ["iciti", "ic"],
  ["ative", "", /^/],
  ["ical", "ic"],
  ["ness", ""],
  ["ful", ""],
];
const STEP_4: Ending[] = [
  ["ement", ""],
  ["ance", ""],
  ["ence", ""],
  ["able", ""],
  ["ible", ""],
  ["ment", ""],
  ["ant", ""],
  ["ent", ""],
  ["ism", ""],
  ["ate", ""],
  ["iti", ""],
  ["ous", ""],
  ["ive", ""],
  ["ize", ""],
  ["ion", "", /[st]$/],
  ["al", ""],
  ["er", ""],
  ["ic", ""],
];

function replaceEnding(word: string, endings: Ending[], start: number, r2: number): string {
  for (const [ending, replacement, after] of endings) {
    if (!word.endsWith(ending)) continue;
    const at = word.length - ending.length;
    const where = ending === "ative" ? r2 : start;
    return at >= where && (after?.test(word.slice(0, at)) ?? true) ? word.slice(0, at) + replacement : word;
  }
  return word;
}
