/** Sign by sign, as picomatch reads a pattern: what is escaped, classes, how groups open, runs of `*`, the rest one by one. */
const SIGN =
  /\\.|\[[!^]?\]?(?:\[:(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]|\\.|[^\]\\])*\]|[?*+@!]?\(|\*+(?!\()|./gs;

/** In how many places a wildcard may end, roughly: what matters is how many of them multiply. */
const ENDS = 32;

/** Four wildcards in one part of a path, and a group of a few alternatives. */
export const MOST_TRIES = 4 * ENDS ** 4;

/**
 * In how many ways the expression of a pattern may try to match a path before it gives up, roughly. Infinite for a group that repeats
 * and whose alternatives can match the same text in several ways: each letter of a name then multiplies the ways. Where parentheses
 * don't pair, picomatch may take another group to be the one that repeats.
 */
export function triesOf(pattern: string): number {
  const signs = pattern.match(SIGN) ?? [];
  const mayRepeat = signs.some((sign) => /^(?:\+|[+*!]\()$/.test(sign));
  let at = 0;
  const tries = (opening: string): number => {
    const from = at;
    let [all, alternative, part, most] = [0, 1, 1, 1];
    for (; at < signs.length; at++) {
      const sign = signs[at] ?? "";
      if (opening !== "" && sign === ")") break;
      if (sign === ")" && mayRepeat) return Infinity;
      if (sign.endsWith("(") && !sign.startsWith("\\")) {
        at++;
        alternative *= tries(sign);
      } else if (opening !== "" && sign === "|") {
        all += alternative * most;
        [alternative, part, most] = [1, 1, 1];
      } else if (opening === "" && sign === "/") part = 1;
      else if (sign.startsWith("*") || (sign === "+" && repeats(signs[at - 1] ?? "", opening))) part *= ENDS;
      most = Math.max(most, part);
    }
    all += alternative * most;
    if (opening === "") return all;
    if (at >= signs.length && mayRepeat) return Infinity;
    const isRepeated = opening === "+(" || opening === "*(" || signs[at + 1] === "+";
    if (isRepeated && (opening === "!(" || !matchesInOneWay(signs.slice(from, at)))) return Infinity;
    if (isRepeated || opening === "!(") return all * ENDS;
    return opening === "?(" ? all + 1 : all;
  };
  return tries("");
}

/** Whether a `+` reaches the expression as it is, and repeats what stands before it. */
function repeats(before: string, opening: string): boolean {
  return opening !== "" || /[\]}+]$/.test(before);
}

/** Whether what is in a group, repeated, matches a text in one way at most: a class, or words of which none begins with another. */
function matchesInOneWay(signs: readonly string[]): boolean {
  if (signs.length === 1 && isClass(signs[0] ?? "")) return true;
  if (signs.some((sign) => isClass(sign) || /^(?:[*?+[\]{}]|.?\()/s.test(sign))) return false;
  // Once sorted, a word stands right before one that begins with it, or before another such.
  const words = signs
    .map((sign) => (sign === "|" ? "\0" : sign.replace(/^\\/, "")))
    .join("")
    .split("\0")
    .toSorted();
  return words.every((word, nth) => word !== "" && words[nth + 1]?.startsWith(word) !== true);
}

function isClass(sign: string): boolean {
  return sign.length > 1 && sign.startsWith("[");
}
