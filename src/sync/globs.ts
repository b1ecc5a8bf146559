import picomatch from "picomatch";
import { MemqError } from "../errors.ts";
import { MOST_TRIES, triesOf } from "./glob-tries.ts";

/** In UTF-16 units; written out, a pattern longer than the longest path matches none. */
const [MAX_LENGTH, MAX_WRITTEN_OUT] = [65_536, 4096];
/** More patterns than this are never written by hand, and each is asked about every file. */
const MAX_ALTERNATIVES = 1000;

/** Whether a path, `/` between its parts, matches. */
export type PathMatcher = (path: string) => boolean;

/**
 * The patterns that one pattern means, in the form that matches paths below a root: braces written out, composed (NFC), without `./`
 * in front and without empty parts. Throws a `MemqError` with a sentence for one that is too long or stands for too many.
 */
export function writtenOut(pattern: string): string[] {
  if (pattern.length > MAX_LENGTH) throw badPattern(pattern, "is longer than 65,536 characters");
  const patterns = readable(pattern, () => alternativesOf(pattern))
    .map((one) =>
      one
        .normalize("NFC")
        .replace(/\/{2,}/g, "/")
        .replace(/^(?:\.\/)+/, ""),
    )
    .filter((one) => one !== "");
  const tooLong = patterns.find((one) => one.length > MAX_WRITTEN_OUT);
  if (tooLong !== undefined) throw badPattern(tooLong, "is longer than 4,096 characters");
  return patterns;
}

/**
 * Matches paths with any of some patterns that are written out; with `dot`, `*` also takes names that begin with a dot. A name matches
 * in its composed form too. The one place where a pattern becomes an expression: masks, ignore lists and globs that are asked for
 * all mean the same by `[!x]`.
 */
export function anyOf(patterns: readonly string[], { dot }: { dot: boolean }): PathMatcher {
  const folders = dot ? patterns.filter((pattern) => namedFolder(pattern) !== null) : [];
  const matchers = patterns
    .filter((pattern) => !folders.includes(pattern))
    .map((pattern) => readable(pattern, () => matcherOf(pattern, dot)));
  if (folders.length > 0) matchers.push(inFolders(folders.flatMap((pattern) => namedFolder(pattern) ?? [])));
  const [only] = matchers;
  const matches =
    only !== undefined && matchers.length === 1 ? only : (path: string) => matchers.some((match) => match(path));
  return (path) => {
    if (matches(path)) return true;
    const composed = path.normalize("NFC");
    return composed !== path && matches(composed);
  };
}

/** Whether a pattern, or a part of one, stands for one name. */
export function isStatic(pattern: string): boolean {
  return !/[*?]|^!|\[[^[]*\]|[!+@]\(|\([^(]*\|/.test(withoutEscaped(pattern));
}

/** The folder that all matches of a pattern lie in, "" for the root. */
export function baseFolder(pattern: string): string {
  const parts = pattern.split("/").slice(0, -1);
  const firstOpen = parts.findIndex((part) => /[*?[\](){}!+@|]/.test(withoutEscaped(part)));
  const named = firstOpen < 0 ? parts : parts.slice(0, firstOpen);
  return named.join("/").replace(/\\(.)/gs, "$1");
}

function withoutEscaped(pattern: string): string {
  return pattern.replace(/\\./gs, "");
}

/**
 * The name that a pattern leaves out with all that is in it, wherever it stands, or null. Nearly every collection has some of these, and
 * there may be many files: all together are one expression.
 */
function namedFolder(pattern: string): string | null {
  return /^\*\*\/([\w.-]+)\/\*\*$/.exec(pattern)?.[1] ?? null;
}

function inFolders(names: readonly string[]): PathMatcher {
  const part = new RegExp(`(?:^|/)(?:${names.map((name) => name.replaceAll(".", String.raw`\.`)).join("|")})(?:/|$)`);
  return (path) => part.test(path);
}

/**
 * An expression tries every way to share a name out between the wildcards of one part: with four that takes milliseconds, with six
 * seconds. Many go to the runtime's own matcher, which takes one pass but knows no groups; a pattern that would need both is refused.
 * A mask that is an extension is matched without a glob's expression.
 */
function matcherOf(pattern: string, dot: boolean): PathMatcher {
  const extension = /^\*\*\/\*(\.[\w.-]+)$/.exec(pattern)?.[1];
  if (extension !== undefined && !dot) {
    return (path) => path.endsWith(extension) && !path.startsWith(".") && !path.includes("/.");
  }
  if (triesOf(pattern) > MOST_TRIES) {
    const glob = new Bun.Glob(withoutGroups(pattern));
    return (path) => glob.match(path);
  }
  // With `posix`, `!` negates a class; with the flag, a name may hold a line break.
  return picomatch(pattern, { dot, posix: true, flags: "s" });
}

/** The pattern for the runtime's matcher. Throws a `MemqError` for one that holds more than wildcards, classes and letters. */
function withoutGroups(pattern: string): string {
  if (/^!|[()\\{}]|\[:|\[[!^]?\]|\]\+/.test(pattern)) {
    throw badPattern(pattern, "has groups that can match in too many ways");
  }
  // There a negated class takes a slash too, unless that is in it: as a range, for a `-` may be next.
  return pattern.replace(/\[([!^]?)([^\]]+)\]/g, (whole, not: string, signs: string) =>
    not === "" ? whole : `[!/-/${signs}]`,
  );
}

function readable<T>(pattern: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof MemqError) throw error;
    throw badPattern(pattern, "can't be read", error);
  }
}

function badPattern(pattern: string, problem: string, cause?: unknown): MemqError {
  const shown = pattern.length > 60 ? `${pattern.slice(0, 60)}…` : pattern;
  return new MemqError("BAD_PATTERN", `The pattern ${JSON.stringify(shown)} ${problem}.`, {
    hint: "Write a shorter pattern, or several with commas between them.",
    cause,
  });
}

type Brace = { close: number; commas: number[] };

/** A pattern for each choice that its braces leave: of lists (`{a,b}`) and ranges (`{1..9}`, `{01..10..3}`, `{a..e}`). */
function alternativesOf(pattern: string): string[] {
  const braces = bracesOf(pattern);
  if (braces.size === 0) return [pattern];
  const literalEnd = (from: number, to: number): number => {
    let end = from + 1;
    while (end < to && !braces.has(end)) end++;
    return end;
  };
  const within = (from: number, to: number): string[] => {
    let found = [""];
    for (let at = from; at < to;) {
      const brace = braces.get(at);
      const end = brace === undefined ? literalEnd(at, to) : brace.close + 1;
      const choices = brace === undefined ? [pattern.slice(at, end)] : choicesOf(at, brace);
      if (found.length * choices.length > MAX_ALTERNATIVES) {
        throw badPattern(pattern, "stands for more than 1,000 patterns");
      }
      found = found.flatMap((head) => choices.map((choice) => head + choice));
      at = end;
    }
    return found;
  };
  const choicesOf = (open: number, { close, commas }: Brace): string[] => {
    if (commas.length > 0) {
      const bounds = [open, ...commas, close];
      return bounds.slice(1).flatMap((end, nth) => within((bounds[nth] ?? open) + 1, end));
    }
    return rangeOf(pattern.slice(open + 1, close)) ?? within(open + 1, close).map((inner) => `{${inner}}`);
  };
  return [...new Set(within(0, pattern.length))];
}

/** The braces that are closed, by where they open; what is escaped or in brackets is none. */
function bracesOf(pattern: string): Map<number, Brace> {
  const braces = new Map<number, Brace>();
  const open: { at: number; commas: number[] }[] = [];
  const lastBracket = pattern.lastIndexOf("]");
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "\\") at++;
    else if (char === "[" && at < lastBracket) at = Math.max(at, pattern.indexOf("]", at + 2));
    else if (char === "{") open.push({ at, commas: [] });
    else if (char === ",") open.at(-1)?.commas.push(at);
    else if (char === "}") {
      const last = open.pop();
      if (last !== undefined) braces.set(last.at, { close: at, commas: last.commas });
    }
  }
  return braces;
}

function rangeOf(inner: string): string[] | null {
  const [, first, last, stride] = /^(-?\d+|[a-z])\.\.(-?\d+|[a-z])(?:\.\.(-?\d+))?$/i.exec(inner) ?? [];
  if (first === undefined || last === undefined) return null;
  const isNumeric = /\d/.test(first) && /\d/.test(last);
  if (!isNumeric && (first.length > 1 || last.length > 1)) return null;
  const [from, to] = isNumeric ? [Number(first), Number(last)] : [first.charCodeAt(0), last.charCodeAt(0)];
  const step = Math.max(1, Math.abs(Number(stride ?? 1)));
  const count = Math.floor(Math.abs(to - from) / step) + 1;
  // One more than may be is told from what may be.
  const values = Array.from({ length: Math.min(count, MAX_ALTERNATIVES + 1) }, (_, nth) =>
    from <= to ? from + nth * step : from - nth * step,
  );
  if (!isNumeric) return values.map((code) => String.fromCharCode(code));
  const isPadded = [first, last].some((bound) => /^-?0\d/.test(bound));
  const width = isPadded ? Math.max(first.length, last.length) : 0;
  return values.map((value) =>
    value < 0 ? `-${`${-value}`.padStart(width - 1, "0")}` : `${value}`.padStart(width, "0"),
  );
}
