import { DAY_MS } from "../notes/dates.ts";
import { utcMidnight } from "../notes/dates.ts";

/** A term of the index that stands for a day or month of the query: `2023-06-27`, `2023-06`. */
export type DateTerm = { term: string; weight: number; finds: boolean };

/** Months without accents, in English, Spanish, Portuguese, French, German, Italian and Dutch. */
const MONTHS = [
  "jan january enero janeiro janvier januar gennaio januari",
  "feb february febrero fevereiro fevrier februar febbraio februari",
  "mar march marzo marco mars marz maart",
  "apr april abril avril aprile",
  "may mayo maio mai maggio mei",
  "jun june junio junho juin juni giugno",
  "jul july julio julho juillet juli luglio",
  "aug august agosto aout augustus",
  "sep sept september septiembre setembro septembre settembre",
  "oct october octubre outubro octobre oktober ottobre",
  "nov november noviembre novembro novembre",
  "dec december diciembre dezembro decembre dezember dicembre",
];
const OF = String.raw`\s*(?:,|de[lr]?\b|of\b)?\s*`;
const DAY = String.raw`\b(\d{1,2})(?:st|nd|rd|th|\.|er|º|ª)?`;
const YEAR = String.raw`((?:1[5-9]|20)\d\d)\b`;

/** Every shape of a date holds one of these. Most queries hold none, and making the shapes takes longer than all else about a query. */
const HINT = /(?:1[5-9]|20)\d\d|\d{4}\s*年|\.\s?\d{4}/;

type Shape = [pattern: RegExp, day: number, month: number, year: number];

/** Each with the groups day, month, year; a shape that holds another comes first. */
function makeShapes(): Shape[] {
  const month = String.raw`\b(${MONTHS.join(" ").replaceAll(" ", "|")})\b\.?`;
  return [
    [new RegExp(`${DAY}${OF}${month}${OF}${YEAR}`, "giu"), 1, 2, 3],
    [new RegExp(`${month}${OF}${DAY}${OF}${YEAR}`, "giu"), 2, 1, 3],
    [new RegExp(`${month}${OF}${YEAR}`, "giu"), 0, 1, 2],
    [/(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日/gu, 3, 2, 1],
    [/(\d{4})\s*年\s*(\d{1,2})\s*月/gu, 0, 2, 1],
    [/\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b/gu, 1, 2, 3],
  ];
}

let shapes: Shape[] | undefined;

/** What a day counts, and the share of it that the note of the last day counts on which one still tells of it. */
const DAY_WEIGHT = 0.7;
const MONTH_WEIGHT = 1;
const TOLD_FOR_DAYS = 7;
const TOLD_LATE = 0.5;

/**
 * The days and months of a query, and the numbers it names them by. The terms are ISO dates, since dated notes are named by them and
 * hardly anybody asks by them. What happened on a day is told on it or in the days after, so the notes of the week that follows count
 * too, the less the later.
 */
export function datesOf(text: string): { terms: DateTerm[]; numbers: ReadonlySet<string> } {
  const numbers = new Set<string>();
  if (!HINT.test(text)) return { terms: [], numbers };
  const terms = new Map<string, DateTerm>();
  const add = (term: string, weight: number, finds: boolean): void => {
    const known = terms.get(term);
    if (known === undefined || known.weight < weight) terms.set(term, { term, weight, finds });
  };
  // Shapes try every way to share out a run of blanks between their parts: of thousands, for minutes.
  let rest = text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/\s+/gu, " ");
  for (const [pattern, day, month, year] of (shapes ??= makeShapes())) {
    rest = rest.replace(pattern, (...groups: string[]) => {
      const first = `${groups[year]}-${monthOf(groups[month]!)}-${day === 0 ? "01" : groups[day]!.padStart(2, "0")}`;
      const from = utcMidnight(first);
      if (from === null) return groups[0]!;
      for (const place of [day, month, year]) if (place > 0 && /^\d/.test(groups[place]!)) numbers.add(groups[place]!);
      if (day === 0) add(first.slice(0, 7), MONTH_WEIGHT, true);
      else add(first, DAY_WEIGHT, true);
      const last = day === 0 ? lastOfMonth(from) : from;
      for (let after = 1; after <= TOLD_FOR_DAYS; after++) {
        const share = 1 - ((1 - TOLD_LATE) * after) / TOLD_FOR_DAYS;
        add(isoDay(last + after * DAY_MS), DAY_WEIGHT * (day === 0 ? TOLD_LATE : share), false);
      }
      return " ";
    });
  }
  return { terms: [...terms.values()], numbers };
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function lastOfMonth(first: number): number {
  const date = new Date(first);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0);
}

/** `01` to `12`; what is no month stays as it is, and makes no date. */
function monthOf(name: string): string {
  if (/^\d/.test(name)) return name.padStart(2, "0");
  const place = MONTHS.findIndex((names) => names.split(" ").includes(name.toLowerCase()));
  return place < 0 ? name : String(place + 1).padStart(2, "0");
}
