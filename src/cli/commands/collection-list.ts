import type { QmdHome } from "../../home/qmd-home.ts";
import { collectionRoot } from "../../home/trust.ts";
import { writeJson, writeOut } from "../../output.ts";
import { newestChanges, documentCounts } from "../../store/documents.ts";
import { openIndex } from "../../store/open.ts";
import { printableText } from "../../printable.ts";
import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { formatOf } from "../qmd/format.ts";
import { noteHome, qmdHomeOf } from "../qmd/home.ts";
import { ago } from "../qmd/words.ts";

/** `collection list`; as JSON an array of `{name, path, pattern}`, which needs no index. */
export async function run(invocation: Invocation): Promise<void> {
  const qmd = await qmdHomeOf(invocation);
  const { collections } = qmd.config;
  noteHome(qmd);
  if (formatOf(invocation) === "json" || flag(invocation, "json")) {
    return writeJson(collections.map(({ name, path, pattern }) => ({ name, path: rootOf(path, qmd), pattern })));
  }
  if (collections.length === 0) {
    return writeOut(`No collections found. Run '${invocation.program} collection add .' to create one.\n`);
  }
  const index = openIndex(qmd.places.indexPath, { mode: "read" });
  const counts = new Map(documentCounts(index).map(({ collection, count }) => [collection, count]));
  const newest = newestChanges(index);
  const blocks = collections.map(({ name, pattern, ignore, includeByDefault }) => {
    // Where nothing was indexed yet qmd prints "0s ago", and who reads the line expects a span of time.
    const updated = newest.get(name) ?? new Date().toISOString();
    return [
      `${name} (qmd://${name}/)${includeByDefault ? "" : " [excluded]"}`,
      `  Pattern:  ${pattern}`,
      ...(ignore.length === 0 ? [] : [`  Ignore:   ${ignore.join(", ")}`]),
      `  Files:    ${counts.get(name) ?? 0}`,
      `  Updated:  ${ago(updated)}`,
      "",
    ].join("\n");
  });
  writeOut(printableText(`Collections (${collections.length}):\n\n${blocks.join("\n")}\n`));
  index.close();
}

function rootOf(path: string, { places }: QmdHome): string {
  return collectionRoot(path, places.configPath, process.cwd(), process.env);
}
