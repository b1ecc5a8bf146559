import { DAY_MS, utcMidnight } from "../notes/dates.ts";

/** Days that a question counts from its own, and how it says so: `YYYY-MM-DD`, and of whole months `YYYY-MM`. */
export type RelativeDays = { said: string; days: string[]; months?: string[] };

/** Days of the week from Sunday on, without accents, as `Date` counts them. */
const WEEKDAYS = [
  "sunday sonntag domingo dimanche domenica zondag воскресенье",
  "monday montag lunes lundi lunedi segunda segunda-feira maandag понедельник",
  "tuesday dienstag martes mardi martedi terca terca-feira dinsdag вторник",
  "wednesday mittwoch miercoles mercredi mercoledi quarta quarta-feira woensdag среду",
  "thursday donnerstag jueves jeudi giovedi quinta quinta-feira donderdag четверг",
  "friday freitag viernes vendredi venerdi sexta sexta-feira vrijdag пятницу",
  "saturday samstag sonnabend sabado samedi sabato zaterdag субботу",
];
/** Particles that Korean puts behind a noun. */
const PARTICLE = "(?:는|의|도|에|부터|까지)?";
/** `hier` is `here` in German and Dutch: it is French with something before, or beside words that those don't have. */
const YESTERDAY = `yesterday last night gestern ayer ontem ieri gisteren вчера вчора wczoraj d'hier qu'hier 昨天 昨日 어제${PARTICLE} امس`;
/** 目前天气 is the weather at present, 大前天 a day earlier. */
const DAY_BEFORE = `vorgestern anteayer anteontem eergisteren позавчера avant-hier (?<![目之以大])前天(?![气氣]) 一昨日 그저께${PARTICLE}`;
const BEFORE = "last past previous letzte[mnrs]? vergangene[mnrs]? vorige afgelopen pasad[oa] прошл(?:ыи|ую|ои|ом|ое)";
/** Said of a week or month, the days up to now. */
const UP_TO_NOW = /^(?:past|afgelopen)$/i;
const BEHIND = "pasad[oa] dernier(?:e)? scors[oa] passad[oa]";
const WEEK = "week woche semana semaine settimana неделе неделю";
const SUNDAY_WEEK = /^(?:week|semana)$/;
const WEEKEND = "weekend week-end wochenende";
const MONTH = "month monat mes mois mese maand месяце";
const NUMBERS = [
  "",
  "a an one einem einer un una une",
  "two zwei dos deux",
  "three drei tres trois",
  "four vier cuatro quatre",
];

/** Every question that says something of the kind holds one of these; most hold none. */
const HINT =
  /yesterday|\blast\b|\bpast\b|previous| ago\b|gestern|letzte|vergangene|vor |vorige|afgelopen|pasad|ayer|hace |derni|hier|il y a|ieri|scors|ontem|passad|gisteren|вчера|вчора|прошл|wczoraj|昨|前天|前日|天前|日前|上[个個周週星礼月]|先[週月]|어제|그저께|[أا]مس/i;

const alternatives = (words: string): string =>
  words.replaceAll("last night", "last\u00a0night").split(" ").join("|").replaceAll("\u00a0", " ");

const FRENCH =
  /(?<![\p{L}\p{N}])(?:est|etait|que|qui|quoi|quand|avec|avons|nous|j'ai|fait|aux|chez|pour|soir|matin)(?![\p{L}\p{N}])/iu;

/** `where`: what the text holds besides. */
type Shape = {
  pattern: RegExp;
  where?: RegExp;
  read: (groups: readonly string[], today: number) => Omit<RelativeDays, "said">;
};

let shapes: Shape[] | undefined;

function makeShapes(): Shape[] {
  // `yesterday.md` and `monday.com` are names.
  const [begin, end] = [String.raw`(?<![\p{L}\p{N}])`, String.raw`(?![\p{L}\p{N}_]|\.\p{L})`];
  const spaced = (source: string): RegExp => new RegExp(begin + source + end, "giu");
  // The last week of a month, the last Monday in May: counted from somewhere else.
  const notOf = String.raw`(?!\s+(?:of|in|im|des|vom|de|del|du)${end})`;
  const period = [...WEEKDAYS, WEEK, WEEKEND, MONTH].map(alternatives).join("|");
  const number = String.raw`(\d{1,2}|${NUMBERS.slice(1).map(alternatives).join("|")})`;
  const unit = String.raw`(days?|weeks?|months?|tag(?:en)?|wochen?|monat(?:en)?|dias?|semanas?|mes(?:es)?|jours?|semaines?|mois)`;
  return [
    {
      pattern: new RegExp(
        `(?:${begin}(?:the\\s+)?day\\s+before\\s+yesterday|${unspaced(DAY_BEFORE, begin, end)})`,
        "giu",
      ),
      read: (_, today) => daysBack(today, 2, 2),
    },
    { pattern: new RegExp(unspaced(YESTERDAY, begin, end), "giu"), read: (_, today) => daysBack(today, 1, 1) },
    { pattern: spaced("hier"), where: FRENCH, read: (_, today) => daysBack(today, 1, 1) },
    {
      pattern: spaced(`(${alternatives(BEFORE)})\\s+(${period})${notOf}`),
      read: ([, how = "", what = ""], today) => lastPeriod(what, today, UP_TO_NOW.test(how)),
    },
    {
      pattern: spaced(`(${period})\\s+(?:${alternatives(BEHIND)})`),
      read: ([, what = ""], today) => lastPeriod(what, today, false),
    },
    {
      pattern: spaced(`${number}\\s+${unit}\\s+ago`),
      read: ([, count = "", what = ""], today) => ago(count, what, today),
    },
    {
      pattern: spaced(`(?:vor|hace|il\\s+y\\s+a)\\s+${number}\\s+${unit}`),
      read: ([, count = "", what = ""], today) => ago(count, what, today),
    },
    // Before the third of November is no count.
    {
      pattern: /(?<!\d|[月월]\s?)(\d{1,2})\s*(?:天|日)前/gu,
      read: ([, count = ""], today) => ago(count, "day", today),
    },
    {
      // 早上, 线上 and 以上 end before it.
      pattern: /(?<![早晚线線网網路以身马馬])上(?:个|個)?(?:周|週|星期|礼拜)([一二三四五六日天])?(?![围圍期])|先週/gu,
      read: ([, day], today) => chineseWeek(day, today),
    },
    { pattern: /上(?:个|個)月|先月/gu, read: (_, today) => monthsBack(today, [1]) },
  ];
}

/** Words between blanks as those are, words of scripts without blanks wherever they stand. */
function unspaced(words: string, begin: string, end: string): string {
  const all = alternatives(words).split("|");
  const isHan = (word: string): boolean => /[\u4e00-\u9fff]/.test(word);
  return `${begin}(?:${all.filter((word) => !isHan(word)).join("|")})${end}|${all.filter(isHan).join("|")}`;
}

/**
 * The days that a question counts from `today` (`YYYY-MM-DD`): `yesterday`, `last Tuesday`, `la semana pasada`, `vor 3 Tagen`. The text is
 * without accents. A day of this week and of the one before are both the last such day, and it is never today.
 */
export function relativeDays(text: string, today: string): RelativeDays[] {
  const now = utcMidnight(today);
  if (now === null) return [];
  const found: RelativeDays[] = [];
  let rest = text;
  for (const { pattern, where, read } of (shapes ??= makeShapes())) {
    if (where?.test(text) === false) continue;
    rest = rest.replace(pattern, (...groups: unknown[]) => {
      const words = groups.filter((group) => typeof group === "string" || group === undefined) as string[];
      found.push({ said: words[0]!, ...read(words, now) });
      return " ";
    });
  }
  return found;
}

/** Whether a question may count days from its own. */
export function mayBeRelative(text: string): boolean {
  return HINT.test(text);
}

function isoDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The days from so many ago to so many ago. */
function daysBack(today: number, from: number, to: number): { days: string[] } {
  return { days: Array.from({ length: from - to + 1 }, (_, at) => isoDay(today - (from - at) * DAY_MS)) };
}

function monthsBack(today: number, counts: number[]): Omit<RelativeDays, "said"> {
  const date = new Date(today);
  const monthOf = (count: number): number => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - count, 1);
  return { days: [], months: counts.map((count) => isoDay(monthOf(count)).slice(0, 7)) };
}

function lastPeriod(what: string, today: number, upToNow: boolean): Omit<RelativeDays, "said"> {
  const name = what.toLowerCase();
  const isOf = (words: string): boolean => words.split(" ").includes(name);
  if (isOf(MONTH)) return monthsBack(today, upToNow ? [1, 0] : [1]);
  if (isOf(WEEK) && upToNow) return daysBack(today, 7, 0);
  // Days since Monday.
  const day = (new Date(today).getUTCDay() + 6) % 7;
  // Where weeks begin on Sunday, the one that ended yesterday.
  if (isOf(WEEK)) return daysBack(today, day + 7, day === 6 && SUNDAY_WEEK.test(name) ? 1 : day + 1);
  if (isOf(WEEKEND)) return day === 6 ? daysBack(today, 8, 7) : daysBack(today, day + 2, day + 1);
  const back = (new Date(today).getUTCDay() - WEEKDAYS.findIndex(isOf) + 6) % 7;
  return daysBack(today, back + 1, back + 1);
}

/** 上周 is all of the week before, 上周二 its Tuesday. */
function chineseWeek(day: string | undefined, today: number): { days: string[] } {
  const monday = ((new Date(today).getUTCDay() + 6) % 7) + 7;
  if (day === undefined) return daysBack(today, monday, monday - 6);
  const back = monday - (("一二三四五六日".indexOf(day) + 7) % 7);
  return daysBack(today, day === "天" ? monday - 6 : back, day === "天" ? monday - 6 : back);
}

/** Weeks are meant roughly. */
function ago(count: string, unit: string, today: number): Omit<RelativeDays, "said"> {
  const number = /^\d/.test(count)
    ? Number(count)
    : NUMBERS.findIndex((words) => words.split(" ").includes(count.toLowerCase()));
  if (/^mo|^mes/i.test(unit)) return monthsBack(today, [number]);
  return /^[ws]/i.test(unit) ? daysBack(today, 7 * number + 3, 7 * number - 3) : daysBack(today, number, number);
}
