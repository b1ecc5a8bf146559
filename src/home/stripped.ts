/** `text` without the run of `mark`, one UTF-16 unit, at either end. An expression would look for the end from each mark in the middle. */
export function stripped(text: string, mark: string): string {
  let from = 0;
  let to = text.length;
  while (text[from] === mark) from++;
  while (to > from && text[to - 1] === mark) to--;
  return text.slice(from, to);
}
