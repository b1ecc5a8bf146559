import { heldTerms } from "../store/keyword.ts";
import type { Index } from "../store/types.ts";
import type { ParsedQuery, QueryTerm } from "./query.ts";

/** Numbers that are written in groups have so many digits or letters: of a telephone, an account, a card. */
const FEWEST_CHARACTERS = 6;
const MOST_CHARACTERS = 40;
/** A group has so many, and one number so many groups. */
const SHORTEST_GROUP = 2;
const LONGEST_GROUP = 12;
const MOST_GROUPS = 10;
/** So much in front may be a country's code, or the zero that stands for it at home. */
const MOST_OF_COUNTRY = 4;
/** Of a pasted log so many numbers are looked at, and of one so many ways to group it. */
const MOST_NUMBERS = 4;
const MOST_WAYS = 32;
/** Ways that end in the middle of the number are many where all short groups are held. */
const MOST_STEPS = 2000;

/**
 * The query, with what its numbers are in the index where they are grouped otherwise: `+491705551234` is `+49 170 5551234`, and
 * `555 12 34` is `5551234`. One that the index knows stands as it is.
 */
export function withSplitNumbers(index: Index, parsed: ParsedQuery): ParsedQuery {
  if (parsed.match === null) return parsed;
  const joined = joinedNumbers(parsed.words);
  const long = parsed.terms.filter(isLongNumber).slice(0, MOST_NUMBERS);
  if (joined.length === 0 && long.length === 0) return parsed;
  const held = heldTerms(index, [...joined, ...long.map(({ term }) => term)]);
  const groups = long
    .flatMap(({ term }) => (held.has(term) ? [] : [groupsOf(index, term)]))
    .filter((one) => one.length > 0);
  const added = [...joined.filter((term) => held.has(term)), ...groups.flat()];
  if (added.length === 0) return parsed;
  const known = new Set(parsed.terms.map(({ term }) => term));
  const traits = { weight: 1, finds: true, kind: "word" as const, part: false };
  const terms = [...new Set(added)]
    .filter((term) => !known.has(term))
    .map((term): QueryTerm => Object.assign({ term, identifier: joined.includes(term) }, traits));
  const any = [...(parsed.match.any ?? []), ...terms.map(({ term }) => ({ tokens: [term] }))];
  return {
    ...parsed,
    terms: [...parsed.terms, ...terms],
    phrases: [...parsed.phrases, ...groups],
    match: { ...parsed.match, any },
  };
}

function isLongNumber({ term, identifier, part }: QueryTerm): boolean {
  const isLong = term.length >= FEWEST_CHARACTERS && term.length <= MOST_CHARACTERS;
  return identifier && !part && isLong && /^[a-z]{0,2}\d+$/.test(term);
}

/** What neighbouring numbers of the query are without what stands between them. */
function joinedNumbers(words: string): string[] {
  const joined = new Set<string>();
  for (const run of words.match(/(?<![^ ])\d+(?: \d+)+(?![^ ])/g) ?? []) {
    const numbers = run.split(" ").slice(0, MOST_GROUPS);
    for (let from = 0; from < numbers.length; from++)
      for (let to = from + 2; to <= numbers.length; to++) joined.add(numbers.slice(from, to).join(""));
  }
  return [...joined].filter(({ length }) => length >= FEWEST_CHARACTERS && length <= MOST_CHARACTERS);
}

/** The groups that stand side by side in a passage and are the number together; none where there are no such. */
function groupsOf(index: Index, number: string): string[] {
  const parts = new Set<string>();
  for (let from = 0; from < number.length; from++)
    for (let length = 1; length <= LONGEST_GROUP && from + length <= number.length; length++)
      parts.add(number.slice(from, from + length));
  const held = heldTerms(index, [...parts]);
  const ways: string[][] = [];
  let steps = 0;
  const walk = (from: number, groups: string[]): void => {
    if (steps++ > MOST_STEPS || ways.length >= MOST_WAYS || groups.length > MOST_GROUPS) return;
    if (from === number.length && groups.length > 1) ways.push(groups);
    for (let length = Math.min(LONGEST_GROUP, number.length - from); length >= SHORTEST_GROUP; length--) {
      const group = number.slice(from, from + length);
      if (held.has(group)) walk(from + length, [...groups, group]);
    }
  };
  for (let from = 0; from <= MOST_OF_COUNTRY && number.length - from >= FEWEST_CHARACTERS; from++) walk(from, []);
  const together = heldTerms(
    index,
    ways.map((groups) => groups.join(" ")),
  );
  return ways.find((groups) => together.has(groups.join(" "))) ?? [];
}
