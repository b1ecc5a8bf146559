/** The form of a word that its inflections share. */
export function stem(word: string, _script: number): string {
  return word;
}
