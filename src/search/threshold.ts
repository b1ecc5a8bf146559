/** The minimum score of a search by meaning alone where nobody names one, as with qmd: a cosine. */
export const LEAST_COSINE = 0.3;

/** What the minimum score is judged by. */
export type Scored = { score: number; fromKeyword: boolean; nameTier: number; exact: boolean };

/**
 * Splits ordered rows at a minimum score. `passing` reach it (an exact file name always does). `fillers` are keyword hits below it:
 * they may take the places that are left, or all of them when nothing passes. What holds an exact word or phrase is no mere filler.
 * A strict minimum, one given in the call, has no fillers and no exceptions but names.
 */
export function splitAtMinimum<T extends Scored>(
  rows: T[],
  minimum: number,
  strict: boolean,
): { passing: T[]; fillers: T[] } {
  const passing: T[] = [];
  const fillers: T[] = [];
  for (const row of rows) {
    if (row.score >= minimum || row.nameTier > 0 || (!strict && row.exact)) passing.push(row);
    else if (!strict && row.fromKeyword) fillers.push(row);
  }
  return { passing, fillers };
}
