import { LATIN } from "../../src/search/scripts.ts";
import { stem } from "../../src/search/stem.ts";
import { isStopWord } from "../../src/search/stopwords.ts";
import { product, vectorsIn } from "./vectors.ts";

/** Words that are met less often than this many others have poor vectors. */
const FREQUENT = 30_000;
/** Words are neighbours from this cosine on, and the closest ones of a word are enough. */
const LEAST = 0.6;
const MOST = 20;

/**
 * The stems that stand in the same contexts as another, with the cosine of their vectors, the closest first. A stem's vector is that of
 * its commonest form; names and stop words are left out.
 */
export function neighboursIn(file: string, isWord: (word: string) => boolean): Map<string, [string, number][]> {
  const stems = new Map<string, Float64Array>();
  for (const [word, vector] of [...vectorsIn(file)].slice(0, FREQUENT)) {
    const own = stem(word, LATIN);
    if (isWord(word) && !isStopWord("eng", word) && /^[a-z]{3,}$/.test(own) && !stems.has(own)) stems.set(own, vector);
  }
  const all = [...stems];
  return new Map(
    all.map(([own, vector]) => {
      const close: [string, number][] = [];
      for (const [other, otherVector] of all) {
        const cosine = product(vector, otherVector);
        if (other !== own && cosine >= LEAST) close.push([other, cosine]);
      }
      return [own, close.sort(([, a], [, b]) => b - a).slice(0, MOST)];
    }),
  );
}
