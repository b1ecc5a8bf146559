/** Anything that may weigh more than its UTF-16 length. */
const MAY_BE_HEAVY = /[\u00b7\u1100-\u11ff\u2e80-\uffe6]/;

/** Weight of a code point: ranges `[first, last, weight]`, the first that holds it decides; everything else weighs its UTF-16 length. */
const HEAVY: ReadonlyArray<readonly [number, number, number]> = [
  [0x4e00, 0x9fa5, 4],
  [0x3000, 0x319f, 4],
  [0xac00, 0xd7af, 4],
  [0xff01, 0xff60, 4],
  [0x00b7, 0x00b7, 4],
  [0x1100, 0x11ff, 12],
  [0x2e80, 0x2fff, 12],
  [0x31a0, 0x33ff, 12],
  [0x3400, 0x4dbf, 12],
  [0x9fa6, 0x9fff, 12],
  [0xa000, 0xa4ff, 12],
  [0xa960, 0xa97f, 12],
  [0xd7b0, 0xd7ff, 12],
  [0xf900, 0xfaff, 12],
  [0xfe10, 0xfe4f, 8],
  [0xff61, 0xffdc, 8],
  [0xffe0, 0xffe6, 8],
  [0x20000, 0x2fa1f, 16],
  [0x30000, 0x3347f, 16],
];

/**
 * Estimated size of a text in characters of English that cost an embedding model as much: Chinese, Japanese and Korean
 * characters count 4 (common), 8 (half-width forms), 12 (rare) or 16 (supplementary planes), everything else its UTF-16 length.
 */
export function weightOf(text: string): number {
  if (!MAY_BE_HEAVY.test(text)) return text.length;
  let weight = 0;
  for (const character of text) weight += characterWeight(character);
  return weight;
}

/** `weightOf` for a single code point. */
export function characterWeight(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x00b7) return 1;
  for (const [first, last, weight] of HEAVY) if (code >= first && code <= last) return weight;
  return character.length;
}
