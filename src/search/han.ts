import pairs from "opencc-js/dict/TSCharacters";

/** Pairs, each behind a line. */
const TABLE = `|${pairs}`;
/** So many characters are looked up in the table as it stands: a question has fewer, and making a map takes longer than these. */
const ASKED_WITHOUT_MAP = 100;
let asked = 0;
let forms: Map<string, string> | undefined;

/** Han characters in their simplified form, so that `會議` finds `会议` and the other way round; Japanese ones too, where both are in use. */
export function simplifiedHan(text: string): string {
  let folded = "";
  for (const character of text) folded += simplifiedOf(character);
  return folded;
}

function simplifiedOf(character: string): string {
  if (asked++ >= ASKED_WITHOUT_MAP) return (forms ??= mapOfPairs()).get(character) ?? character;
  const before = `|${character} `;
  const at = TABLE.indexOf(before);
  return at < 0 ? character : String.fromCodePoint(TABLE.codePointAt(at + before.length)!);
}

function mapOfPairs(): Map<string, string> {
  return new Map(pairs.split("|").map((pair) => pair.split(" ", 2) as [string, string]));
}
