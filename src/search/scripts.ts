import { simplifiedHan } from "./han.ts";

/**
 * What a character is to the tokenizer. Numbers, so that a table of bytes can remember them: below `LETTER` it is no letter.
 * Scripts that are told apart end a word where they meet.
 */
export const SEPARATOR = 1;
export const MARK = 2;
export const DIGIT = 3;
export const EMOJI = 4;
export const LETTER = 10;
export const LATIN = 11;
export const GREEK = 12;
export const CYRILLIC = 13;
export const ARABIC = 14;
export const HEBREW = 15;
export const DEVANAGARI = 16;
/** From here on: scripts written without blanks between words, or (Hangul) with particles glued to them. */
export const UNSPACED = 20;
export const HAN = 20;
export const HIRAGANA = 21;
export const KATAKANA = 22;
export const HANGUL = 23;
export const THAI = 24;
const LAO = 25;
const KHMER = 26;
const MYANMAR = 27;

/** `[first, last, class]`, for letters only; what is not listed is `LETTER`, a spaced script that needs no rule of its own. */
const LETTER_RANGES: readonly (readonly [number, number, number])[] = [
  [0x41, 0x2af, LATIN],
  [0x370, 0x3ff, GREEK],
  [0x400, 0x52f, CYRILLIC],
  [0x590, 0x5ff, HEBREW],
  [0x600, 0x6ff, ARABIC],
  [0x750, 0x77f, ARABIC],
  [0x8a0, 0x8ff, ARABIC],
  [0x900, 0x97f, DEVANAGARI],
  [0xe00, 0xe7f, THAI],
  [0xe80, 0xeff, LAO],
  [0x1000, 0x109f, MYANMAR],
  [0x1100, 0x11ff, HANGUL],
  [0x1780, 0x17ff, KHMER],
  [0x1c80, 0x1c8f, CYRILLIC],
  [0x1d00, 0x1dbf, LATIN],
  [0x1e00, 0x1eff, LATIN],
  [0x1f00, 0x1fff, GREEK],
  [0x2c60, 0x2c7f, LATIN],
  [0x3005, 0x3007, HAN],
  [0x3040, 0x309f, HIRAGANA],
  [0x30a0, 0x30ff, KATAKANA],
  [0x31f0, 0x31ff, KATAKANA],
  [0x3130, 0x318f, HANGUL],
  [0x3400, 0x4dbf, HAN],
  [0x4e00, 0x9fff, HAN],
  [0xa640, 0xa69f, CYRILLIC],
  [0xa720, 0xa7ff, LATIN],
  [0xa960, 0xa97f, HANGUL],
  [0xaa60, 0xaa7f, MYANMAR],
  [0xab30, 0xab6f, LATIN],
  [0xac00, 0xd7ff, HANGUL],
  [0xf900, 0xfaff, HAN],
  [0x20000, 0x3ffff, HAN],
];

const known = new Uint8Array(0x10000);

/** The class of a code point, one of the constants above. */
export function characterClass(codePoint: number): number {
  if (codePoint > 0xffff) return classOf(codePoint);
  const seen = known[codePoint] ?? 0;
  return seen === 0 ? (known[codePoint] = classOf(codePoint)) : seen;
}

function classOf(codePoint: number): number {
  // Most queries are ASCII, and expressions over all of Unicode take long to make.
  const character = String.fromCodePoint(codePoint);
  if (codePoint < 0x80) return /[a-z]/i.test(character) ? LATIN : /\d/.test(character) ? DIGIT : SEPARATOR;
  // The prolonged sound mark belongs to the kana word it stands in, whatever its property says.
  if (codePoint === 0x30fc) return KATAKANA;
  if (/\p{L}|\p{Nl}/u.test(character)) {
    return LETTER_RANGES.find(([first, last]) => codePoint >= first && codePoint <= last)?.[2] ?? LETTER;
  }
  if (/\p{N}/u.test(character)) return DIGIT;
  // Joiners shape letters and part nothing.
  if (codePoint === 0x200c || codePoint === 0x200d || codePoint === 0xad || /\p{M}/u.test(character)) return MARK;
  return /\p{Extended_Pictographic}|\p{Regional_Indicator}/u.test(character) ? EMOJI : SEPARATOR;
}

/** Letters whose difference from a base letter is a matter of spelling but which Unicode does not decompose. */
const LETTER_FOLDS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ħ: "h",
  ı: "i",
  ĸ: "k",
  ŋ: "n",
  ŧ: "t",
  ς: "σ",
};
const FOLDED_LETTERS = /[ßæœøłđðþħıĸŋŧς]/g;

/**
 * A word of one script in the form in which words are compared: lower case; accents of Latin, Greek and Cyrillic removed;
 * vowel signs of Arabic and Hebrew, which most writers leave out, and Hebrew's final forms removed; Hindi spelling variants merged;
 * Chinese characters simplified.
 */
export function foldWord(word: string, script: number): string {
  const lower = word.toLowerCase();
  switch (script) {
    case LATIN:
    case GREEK:
    case CYRILLIC:
      return isAscii(lower)
        ? lower
        : lower
            .normalize("NFD")
            .replace(/\p{M}+|\u00ad|\u200c|\u200d/gu, "")
            .replace(FOLDED_LETTERS, (letter) => LETTER_FOLDS[letter] ?? letter);
    case ARABIC:
      return foldArabic(lower);
    case HEBREW:
      return lower
        .replace(/\p{M}+/gu, "")
        .replace(/[\u05da\u05dd\u05df\u05e3\u05e5]/g, (final) => nextCharacter(final));
    case DEVANAGARI:
      return foldDevanagari(lower);
    default: {
      const bare = lower.replace(/\u00ad|\u200c|\u200d/g, "");
      return script === HAN ? simplifiedHan(bare) : bare;
    }
  }
}

/** Whether `text` has no character above U+007F. */
export function isAscii(text: string): boolean {
  if (text.length > 64) return Buffer.byteLength(text) === text.length;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}

/** A Hebrew letter without its final form, which Unicode has right before it. */
function nextCharacter(letter: string): string {
  return String.fromCharCode(letter.charCodeAt(0) + 1);
}

/** Katakana as hiragana, whose code points lie 0x60 before: `リンゴ` is `りんご`. */
export function foldKana(text: string): string {
  return text.replace(/[\u30a1-\u30f6]/g, (kana) => String.fromCharCode(kana.charCodeAt(0) - 0x60));
}

/** Vowel signs and stretching removed; the forms of alef, of yeh and of final heh that writers mix up merged. */
function foldArabic(word: string): string {
  return word
    .normalize("NFD")
    .replace(/\p{M}+|\u0640|\u200c|\u200d/gu, "")
    .replace(/\u0671/g, "\u0627")
    .replace(/[\u0649\u06cc]/g, "\u064a")
    .replace(/\u0629/g, "\u0647")
    .replace(/\u06a9/g, "\u0643");
}

/**
 * Spellings of the same Hindi word merged, as in Larkey et al., "Hindi CLIR in thirty days" (2003): nasals before a
 * consonant and the candrabindu become anusvara, the dot below goes, long vowels become short ones.
 */
function foldDevanagari(word: string): string {
  return word
    .normalize("NFD")
    .replace(/\u200c|\u200d|\u093c/g, "")
    .replace(/[\u0928\u092e\u0919\u091e\u0923]\u094d(?=[\u0915-\u0939])/g, "\u0902")
    .replace(/\u0901/g, "\u0902")
    .replace(/\u0908/g, "\u0907")
    .replace(/\u090a/g, "\u0909")
    .replace(/\u0940/g, "\u093f")
    .replace(/\u0942/g, "\u0941")
    .replace(/[\u090d\u090e\u0910]/g, "\u090f")
    .replace(/[\u0945\u0946\u0948]/g, "\u0947")
    .replace(/[\u0911\u0912\u0914]/g, "\u0913")
    .replace(/[\u0949\u094a\u094c]/g, "\u094b")
    .replace(/\u0906/g, "\u0905");
}

const ZEROS = [
  0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0x1040, 0x17e0,
];

/** Digits of other scripts as ASCII digits, so that `२०२६` finds `2026`. */
export function foldDigits(digits: string): string {
  if (isAscii(digits)) return digits;
  return Array.from(digits, (digit) => {
    const codePoint = digit.codePointAt(0) ?? 0;
    const zero = ZEROS.find((start) => codePoint >= start && codePoint < start + 10);
    return zero === undefined ? digit : String(codePoint - zero);
  }).join("");
}
