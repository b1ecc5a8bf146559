/** A longer text is a list of names, whatever is in it. */
const LONGEST = 4096;

/** An expression tries every way to share a name out between the wildcards of one part: with four that takes milliseconds, with six seconds. */
const MOST_WILDCARDS = 4;

/**
 * Makes the test whether a path matches a glob that somebody typed or sent. Many wildcards go to the runtime's own matcher, which
 * takes one pass but knows no groups; null for a pattern that would need both.
 */
export async function globTest(glob: string): Promise<((path: string) => boolean) | null> {
  if (glob.length > LONGEST) return () => false;
  if (mostWildcards(glob) <= MOST_WILDCARDS && !/[*+]\([^()]*\*/.test(glob)) {
    const { default: picomatch } = await import("picomatch");
    return picomatch(glob, { dot: true, nonegate: true });
  }
  if (/[()[\]{}!+@\\]/.test(glob)) return null;
  const matcher = new Bun.Glob(glob);
  return (path) => matcher.match(path);
}

/** The most wildcards that one part of the path may have to be shared out between; of alternatives the one with the most counts. */
function mostWildcards(glob: string): number {
  let flat = glob;
  for (let before = ""; before !== flat;) {
    before = flat;
    flat = flat.replace(/[{(]([^{}()]*)[})]/g, (_, inner: string) =>
      inner.split(/[,|]/).reduce((most, one) => (wildcards(one) > wildcards(most) ? one : most)),
    );
  }
  return Math.max(...flat.split("/").map(wildcards));
}

function wildcards(part: string): number {
  return part.match(/\*+/g)?.length ?? 0;
}
