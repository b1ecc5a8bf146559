import { DAY_MS, dateInZone, utcMidnight } from "../notes/dates.ts";
import { mayBeRelative, relativeDays, type RelativeDays } from "./relative-days.ts";
import { isAscii } from "./scripts.ts";

/**
 * A term of the index that stands for a day or month of the query: `2023-06-27`, `2023-06`; `27.06.2023`. `date` numbers what the query
 * says: the terms of one date are alternatives.
 */
export type DateTerm = { term: string; weight: number; finds: boolean; date: number };

/** What a query says of days: terms for them, the commonest ways to write them in numbers, and the numbers and the names of months (folded) that it says it by. */
export type QueryDates = {
  terms: DateTerm[];
  written: DateTerm[];
  numbers: ReadonlySet<string>;
  months: ReadonlySet<string>;
};

/** Months without accents, in English, Spanish, Portuguese, French, German, Italian, Dutch, Swedish, Polish, Turkish, Russian and Ukrainian. */
const MONTHS = [
  "jan january enero janeiro janvier januar gennaio januari stycznia ocak января январе січня січні styczniu",
  "feb february febrero fevereiro fevrier februar febbraio februari lutego subat февраля феврале лютого лютому lutym",
  "mar march marzo marco mars marz maart marca mart марта марте березня березні marcu",
  "apr april abril avril aprile kwietnia nisan апреля апреле квітня квітні kwietniu",
  "may mayo maio mai maggio mei maj maja mayis мая мае травня травні maju",
  "jun june junio junho juin juni giugno czerwca haziran июня июне червня червні czerwcu",
  "jul july julio julho juillet juli luglio lipca temmuz июля июле липня липні lipcu",
  "aug august agosto aout augustus augusti sierpnia agustos августа августе серпня серпні sierpniu",
  "sep sept september septiembre setembro septembre settembre wrzesnia eylul сентября сентябре вересня вересні wrzesniu",
  "oct october octubre outubro octobre oktober ottobre pazdziernika ekim октября октябре жовтня жовтні pazdzierniku",
  "nov november noviembre novembro novembre listopada kasim ноября ноябре листопада листопаді listopadzie",
  "dec december diciembre dezembro decembre dezember dicembre grudnia aralik декабря декабре грудня грудні grudniu",
];

/** Every shape of a date with a year holds one of these. Most queries hold none, and making the shapes takes longer than all else about a query. */
const HINT = /(?:1[5-9]|20)\d\d|\d{4}\s*[年년]|\.\s?\d{4}/;
/** One without a year holds a number like this and a word that begins like a month. */
const DAY_HINT = /(?<!\d)\d{1,2}(?!\d)/;
const MONTH_HINT =
  /[月월]|jan|ene|gen|sty|oca|янв|січ|feb|fev|lut|sub|фев|лют|mar|maa|мар|бер|apr|abr|avr|kwi|nis|апр|кві|ma[yigj]|mei|ма[яе]|тра|jun|jui|giu|cze|haz|июн|чер|jul|lug|lip|tem|июл|лип|aug|ago|agu|aou|sie|авг|сер|sep|set|wrz|eyl|сен|вер|вер|oct|okt|out|ott|paz|eki|окт|жов|nov|lis|лис|kas|ноя|de[cz]|dic|gru|ara|дек|гру/i;

/** What stands before a month alone, as no word of its own (`may`, `march`). Short forms are: `in set`, `in out`. */
const BEFORE_MONTH = String.raw`(?:(?:in|during|last)\s+(?!mars)|(?:im|letzten|en|em|nel|w|we(?=\s+wrz)|в|у)\s+)`;
const MONTH_ALONE_HINT = /(?<!\p{L})(?:in|during|last|im|letzten|en|em|nel|we?|в|у)\s+\p{L}{3}|\d\s*[月월]/iu;

/** The year before this one, beside a day or month. */
const LAST_YEAR =
  /(?<![\p{L}\p{N}])(?:last year|(?:letzte|vergangene|vorige)[nms] jahre?s?|(?:ano|an|annee|anno) (?:pasado|passado|derniere?|scorso)|vorig jaar|прошл(?:ом году|ого года))(?![\p{L}\p{N}])|去年|昨年|작년/giu;

/** The day, month and year that the groups of a pattern are, by the letters of each order that they may be in. */
type Shape = { pattern: RegExp; orders: string[] };

/** Shapes of dates with and without a year; a shape that holds another comes first. Beyond ASCII `\b` knows no letters. */
function makeShapes(ofAscii: boolean): { dated: Shape[]; yearless: Shape[] } {
  const names = MONTHS.join(" ")
    .split(" ")
    .filter((name) => !ofAscii || isAscii(name));
  const spelt = names.filter((name) => name.length > 3 || /^ma[iyj]$|^mei$|^мае$/.test(name));
  const [begin, end] = ofAscii
    ? [String.raw`\b`, String.raw`\b`]
    : [String.raw`(?<![\p{L}\p{N}])`, String.raw`(?![\p{L}\p{N}])`];
  const of = String.raw`\s*(?:,|de[lr]?\b|of\b)?\s*`;
  const day = String.raw`${begin}(\d{1,2})(?:st|nd|rd|th|\.|er|º|ª)?`;
  const month = `${begin}(${names.join("|")})${end}\\.?`;
  const year = String.raw`((?:1[5-9]|20)\d\d)${end}`;
  const made = (source: string, order: string): Shape => ({ pattern: new RegExp(source, "giu"), orders: [order] });
  return {
    dated: [
      made(`${day}${of}${month}${of}${year}`, "dmy"),
      made(`${month}${of}${day}${of}${year}`, "mdy"),
      made(`${month}${of}${year}`, "my"),
      { pattern: /(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]/gu, orders: ["ymd"] },
      { pattern: /(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]/gu, orders: ["ym"] },
      { pattern: /(?<!\d\.)\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b(?!\.\d)/gu, orders: ["dmy"] },
      { pattern: /(?<!\d\.)\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b(?!\.\d)/gu, orders: ["ymd"] },
      { pattern: /\b((?:19|20)\d\d)(\d\d)(\d\d)\b/gu, orders: ["ymd"] },
      { pattern: /\b(\d{1,2})[-/](\d{1,2})[-/](\d{4})\b/gu, orders: ["dmy", "mdy"] },
    ],
    yearless: [
      made(`${day}${of}${month}`, "dm"),
      made(`${month}${of}${day}${end}`, "md"),
      { pattern: /(?<!\d)(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]/gu, orders: ["md"] },
      made(`${begin}${BEFORE_MONTH}(${spelt.join("|")})${end}`, "m"),
      { pattern: /(?<!\d)(\d{1,2})\s*[月월](?!\s*\d)/gu, orders: ["m"] },
    ],
  };
}

const shapes = new Map<boolean, ReturnType<typeof makeShapes>>();

function shapesFor(text: string): ReturnType<typeof makeShapes> {
  const ofAscii = isAscii(text);
  const known = shapes.get(ofAscii) ?? makeShapes(ofAscii);
  shapes.set(ofAscii, known);
  return known;
}

/** What a day counts, and the share of it that the note of the last day counts on which one still tells of it. */
const DAY_WEIGHT = 1;
const MONTH_WEIGHT = 1;
const TOLD_FOR_DAYS = 7;
const TOLD_LATE = 0.5;
/** Of a day without a year the last one is meant, or else one of the next or of so many before, which count less. */
const YEARS_BEFORE = 3;
const OTHER_YEAR = 0.5;

/**
 * The days and months of a query, and the numbers and months it names them by. The terms are ISO dates, since dated notes are named by
 * them and hardly anybody asks by them. What happened on a day is told on it or in the days after, so the notes of the week that follows
 * count too, the less the later. A day or month without a year, or a day that is counted from today in `timeZone` (by default the system's), counts where
 * `now`, in milliseconds since 1970, is given.
 */
export function datesOf(text: string, now?: number, timeZone?: string): QueryDates {
  const found = new Found();
  const isDated = HINT.test(text);
  const isRelative = now !== undefined && mayBeRelative(text);
  if (!isDated && !isRelative && (now === undefined || !mayBeYearless(text))) return found;
  // Shapes try every way to share out a run of blanks between their parts: of thousands, for minutes.
  let rest = withoutAccents(text).replace(/\s+/gu, " ");
  const today = now === undefined ? "" : dateInZone(now, timeZone);
  if (isRelative) for (const days of relativeDays(rest, today)) found.addRelative(days);
  if (!isDated && !MONTH_HINT.test(rest)) return found;
  const { dated, yearless } = shapesFor(rest);
  const lastYear = now !== undefined && rest.search(LAST_YEAR) >= 0 ? String(Number(today.slice(0, 4)) - 1) : undefined;
  if (lastYear !== undefined) rest = rest.replace(LAST_YEAR, ` ${lastYear} `);
  for (const { pattern, orders } of isDated || lastYear !== undefined ? dated : [])
    rest = rest.replace(pattern, (...groups: string[]) => {
      const read = orders.filter((order) => found.add(partsOf(groups, order)));
      return read.length > 0 ? " " : groups[0]!;
    });
  if (now === undefined || !mayBeYearless(rest)) return found;
  for (const { pattern, orders } of yearless)
    rest = rest.replace(pattern, (...groups: string[]) => {
      const read = orders.filter((order) => {
        const parts = partsOf(groups, order);
        return lastYear === undefined ? found.addYearless(parts, today) : found.add({ ...parts, y: lastYear });
      });
      return read.length > 0 ? " " : groups[0]!;
    });
  return found;
}

function mayBeYearless(text: string): boolean {
  return DAY_HINT.test(text) || MONTH_ALONE_HINT.test(text);
}

function withoutAccents(text: string): string {
  if (isAscii(text)) return text;
  // Hangul comes apart with the accents.
  return text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/ı/g, "i").replaceAll("’", "'").normalize("NFC");
}

type Parts = { d?: string; m: string; y?: string };

function partsOf(groups: readonly string[], order: string): Parts {
  const of = (part: string): string | undefined => (order.includes(part) ? groups[order.indexOf(part) + 1] : undefined);
  return { d: of("d"), m: of("m") ?? "", y: of("y") };
}

class Found implements QueryDates {
  private readonly byTerm = new Map<string, DateTerm>();
  readonly written: DateTerm[] = [];
  readonly numbers = new Set<string>();
  readonly months = new Set<string>();
  /** The number of the date that is being added. */
  private date = 0;

  get terms(): DateTerm[] {
    return [...this.byTerm.values()];
  }

  /** Adds a day or, without one, a month; false for what is none. */
  add({ d, m, y = "" }: Parts): boolean {
    const first = `${y}-${monthOf(m)}-${(d ?? "01").padStart(2, "0")}`;
    const from = utcMidnight(first);
    if (from === null) return false;
    this.date++;
    this.addWords([d, m, y]);
    if (d === undefined) this.term(first.slice(0, 7), MONTH_WEIGHT, true);
    else this.day(first);
    this.told(d === undefined ? lastOfMonth(from) : from, d === undefined);
    return true;
  }

  /** Adds a day, or without one a month, of the years around `today` (`YYYY-MM-DD`). */
  addYearless({ d, m }: Parts, today: string): boolean {
    this.date++;
    if (d === undefined) return this.addMonth(m, today);
    const year = Number(today.slice(0, 4));
    const days = Array.from(
      { length: YEARS_BEFORE + 2 },
      (_, back) => `${year + 1 - back}-${monthOf(m)}-${d.padStart(2, "0")}`,
    );
    const real = days.filter((day) => utcMidnight(day) !== null);
    const last = real.find((day) => day <= today);
    for (const day of real) if (day !== last) this.term(day, DAY_WEIGHT * OTHER_YEAR, true);
    if (last !== undefined) {
      this.day(last);
      this.told(utcMidnight(last)!, false);
    }
    if (real.length > 0) this.addWords([d, m]);
    return real.length > 0;
  }

  /** Adds days that are counted from today: who counts them asks for what was written on them. */
  addRelative({ said, days, months = [] }: RelativeDays): void {
    this.date++;
    const [only] = days;
    if (only !== undefined && days.length === 1) this.day(only);
    else for (const day of days) this.term(day, DAY_WEIGHT, true);
    for (const month of months) this.term(month, MONTH_WEIGHT, true);
    this.addWords(said.split(/[\s']+/));
  }

  private addMonth(m: string, today: string): boolean {
    const year = Number(today.slice(0, 4)) - Number(`${today.slice(0, 4)}-${monthOf(m)}` > today.slice(0, 7));
    if (utcMidnight(`${year}-${monthOf(m)}-01`) === null) return false;
    for (let back = 0; back <= YEARS_BEFORE; back++)
      this.term(`${year - back}-${monthOf(m)}`, MONTH_WEIGHT * (back === 0 ? 1 : OTHER_YEAR), true);
    this.addWords([m]);
    return true;
  }

  private addWords(words: (string | undefined)[]): void {
    for (const word of words)
      if (word !== undefined) (/^\d/.test(word) ? this.numbers : this.months).add(word.toLowerCase());
  }

  private day(day: string): void {
    this.term(day, DAY_WEIGHT, true);
    const [year, month, date] = day.split("-") as [string, string, string];
    for (const [a, b] of [
      [date, month],
      [String(Number(date)), String(Number(month))],
    ]) {
      for (const term of [`${a}.${b}.${year}`, `${a}/${b}/${year}`, `${b}/${a}/${year}`])
        this.written.push({ term, weight: DAY_WEIGHT, finds: true, date: this.date });
    }
  }

  /** Adds the days of the week that follows one on which something happened. */
  private told(last: number, ofMonth: boolean): void {
    for (let after = 1; after <= TOLD_FOR_DAYS; after++) {
      const share = 1 - ((1 - TOLD_LATE) * after) / TOLD_FOR_DAYS;
      this.term(isoDay(last + after * DAY_MS), DAY_WEIGHT * (ofMonth ? TOLD_LATE : share), false);
    }
  }

  private term(term: string, weight: number, finds: boolean): void {
    const known = this.byTerm.get(term);
    if (known === undefined || known.weight < weight) this.byTerm.set(term, { term, weight, finds, date: this.date });
  }
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
