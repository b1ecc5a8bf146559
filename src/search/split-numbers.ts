import { heldTerms } from "../store/keyword.ts";
import type { Index } from "../store/types.ts";
import type { ParsedQuery, QueryTerm } from "./query.ts";
import { foldDigits } from "./scripts.ts";

/**
 * Numbers that are written in groups have so many digits or letters: of a telephone, an account, a card. Fewer are looked for in groups by
 * chance: any time of a log is `143722`, and a price `124999`.
 */
const FEWEST_CHARACTERS = 7;
const MOST_CHARACTERS = 40;
/** A group has so many, and one number so many groups. */
const SHORTEST_GROUP = 2;
const LONGEST_GROUP = 12;
const MOST_GROUPS = 10;
/** The zeros in front of a number that is called from home or from abroad; what else is in front makes it another's. */
const MOST_ZEROS = 2;
/** Of a pasted log so many numbers are looked at, and of one so many ways to group it. */
const MOST_NUMBERS = 4;
const MOST_WAYS = 32;
/** Ways that end in the middle of the number are many where all short groups are held. */
const MOST_STEPS = 2000;

/**
 * The query, with what its numbers are in the index where they are grouped otherwise: `00491705551234` is `+49 170 5551234`, and
 * `555 12 34` is `5551234`. One that the index knows stands as it is.
 */
export function withSplitNumbers(index: Index, parsed: ParsedQuery): ParsedQuery {
  if (parsed.match === null) return parsed;
  const joined = joinedNumbers(parsed.text);
  const long = parsed.terms.filter(isLongNumber).slice(0, MOST_NUMBERS);
  if (joined.length === 0 && long.length === 0) return parsed;
  const held = heldTerms(index, [...joined, ...long.map(({ term }) => term)]);
  const groups = long
    .flatMap(({ term }) => (held.has(term) ? [] : [groupsOf(index, term)]))
    .filter((one) => one.length > 0);
  // Groups find side by side only: any list holds `170`. By themselves they tell where in a passage the number stands.
  const numbers = [...joined.filter((term) => held.has(term)), ...groups.map((one) => one.join(" "))];
  const known = new Set(parsed.terms.map(({ term }) => term));
  const added = (terms: string[], traits: Omit<QueryTerm, "term" | "kind">): QueryTerm[] =>
    [...new Set(terms)]
      .filter((term) => !known.has(term))
      .map((term) => Object.assign({ term, kind: "whole" as const }, traits));
  const terms = [
    ...parsed.terms,
    ...added(numbers, { weight: 1, finds: true, identifier: true, part: false }),
    ...added(groups.flat(), { weight: 0, finds: false, identifier: false, part: true }),
  ];
  const any = terms.filter(({ finds }) => finds).map(({ term }) => ({ tokens: [term] }));
  const counted = new Map(groups.map((one) => [one.join(" "), 1]));
  return { ...parsed, terms, held: counted, match: { ...parsed.match, any } };
}

function isLongNumber({ term, identifier, part }: QueryTerm): boolean {
  const isLong = term.length >= FEWEST_CHARACTERS && term.length <= MOST_CHARACTERS;
  return identifier && !part && isLong && /^[a-z]{0,2}\d+$/.test(term);
}

/** What neighbouring numbers of a text are without the blanks, dashes, slashes and brackets that stand between them. */
function joinedNumbers(text: string): string[] {
  const joined = new Set<string>();
  for (const [run] of foldDigits(text).matchAll(/(?<![\w.,:])\d+(?:[\s/()-]{1,3}\d+)+(?!\w|[.,:]\d)/g)) {
    const numbers = run.match(/\d+/g)!.slice(0, MOST_GROUPS);
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
  const zeros = Math.min(/^0*/.exec(number)![0].length, MOST_ZEROS, number.length - FEWEST_CHARACTERS);
  for (let from = 0; from <= zeros; from++) walk(from, []);
  const together = heldTerms(
    index,
    ways.map((groups) => groups.join(" ")),
  );
  return ways.find((groups) => together.has(groups.join(" "))) ?? [];
}
