/** The patterns of a comma list; commas inside braces or brackets belong to their pattern. A list of nothing is one pattern as it stands. */
export function patternList(pattern: string): string[] {
  const parts: string[] = [];
  let [braces, brackets] = [0, 0];
  let start = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === "{") braces++;
    else if (char === "[") brackets++;
    else if (char === "}") braces = Math.max(0, braces - 1);
    else if (char === "]") brackets = Math.max(0, brackets - 1);
    else if (char === "," && braces === 0 && brackets === 0) {
      parts.push(pattern.slice(start, at));
      start = at + 1;
    }
  }
  const named = [...parts, pattern.slice(start)].map((text) => text.trim()).filter((text) => text !== "");
  return named.length === 0 ? [pattern] : named;
}

/** Whether a pattern of a mask names what stays out: `!drafts/**`, but not the alternatives of `!(a|b).md`. */
export function isExclusion(pattern: string): boolean {
  return pattern.startsWith("!") && pattern[1] !== "(";
}
