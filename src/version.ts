import manifest from "../package.json" with { type: "json" };

/** How the executable was called: behind a link named `qmd` it calls itself so. */
export type Program = "memq" | "qmd";

/** Version of this program. */
export const VERSION: string = manifest.version;

/** The version of qmd whose command line, files and MCP server we keep. */
const QMD_VERSION = "2.8.3";

/** What `--version` prints; behind a link named `qmd`, clients read qmd's version first. */
export function versionLine(program: Program): string {
  return program === "qmd" ? `qmd ${QMD_VERSION} (memq ${VERSION})` : `memq ${VERSION}`;
}
