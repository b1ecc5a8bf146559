/**
 * `text` with every block, from a match of `opening` (global) to the nearest match of its closing expression (global) behind it,
 * replaced. The time is linear: where a block is never closed its closing is not looked for again from the openings that follow.
 */
export function replaceBlocks(
  text: string,
  opening: RegExp,
  closingOf: (opened: RegExpExecArray) => RegExp,
  replacement: (opened: string, closed: string) => string,
): string {
  const missing = new Set<string>();
  let out = "";
  let at = 0;
  for (const opened of text.matchAll(opening)) {
    const closing = closingOf(opened);
    if (opened.index < at || missing.has(closing.source)) continue;
    closing.lastIndex = opened.index + opened[0].length;
    const closed = closing.exec(text);
    if (closed === null) {
      missing.add(closing.source);
      continue;
    }
    out += text.slice(at, opened.index) + replacement(opened[0], closed[0]);
    at = closed.index + closed[0].length;
  }
  return out + text.slice(at);
}
