import { MemqError } from "../../errors.ts";
import { writeOut } from "../../output.ts";
import { documentName } from "../../qmd/names.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import { spellingsOf, withoutScheme } from "../../search/resolve.ts";
import { documentCounts, listedDocuments } from "../../store/documents.ts";
import { printableName } from "../../printable.ts";
import type { Invocation } from "../parse.ts";
import { openedQmd } from "../qmd/home.ts";
import { sizeText } from "../qmd/words.ts";

/** `ls [PATH]`: the collections, or the documents of one, or those below a folder of it. */
export async function run(invocation: Invocation): Promise<void> {
  const open = await openedQmd(invocation);
  const [name = ""] = invocation.words;
  if (name === "") return writeOut(collectionsText(open));
  for (const spelling of spellingsOf(name)) {
    const place = placeOf(open, spelling);
    if (place === null) continue;
    const rows = listedDocuments(open.index, place.collection).filter(
      ({ path }) => place.path === "" || path === place.path || path.startsWith(`${place.path}/`),
    );
    if (rows.length === 0 && spelling !== spellingsOf(name).at(-1)) continue;
    return writeOut(rows.length === 0 ? nothingText(place) : documentsText(open, place.collection, rows));
  }
  // A path on disk begins with a slash: it is no collection, and called as it was typed.
  const collection = withoutScheme(name).split("/")[0] || name;
  throw new MemqError("COLLECTION_NOT_FOUND", `Collection not found: ${collection}`, {
    hint: `Run '${open.program} ls' to see available collections.`,
  });
}

function collectionsText({ qmd, index, program }: OpenQmd): string {
  const { collections } = qmd.home;
  if (collections.length === 0) return `No collections found. Run '${program} collection add .' to create one.\n`;
  const counts = new Map(documentCounts(index).map(({ collection, count }) => [collection, count]));
  const lines = collections.map(({ name }) => `  qmd://${name}/  (${counts.get(name) ?? 0} files)`);
  return `Collections:\n\n${lines.join("\n")}\n`;
}

type Place = { collection: string; path: string };

function placeOf({ qmd }: OpenQmd, name: string): Place | null {
  const bare = withoutScheme(name);
  const collection = qmd.home.collections.find((one) => bare === one.name || bare.startsWith(`${one.name}/`));
  if (collection === undefined) return null;
  return { collection: collection.name, path: bare.slice(collection.name.length + 1).replace(/\/+$/, "") };
}

function nothingText({ collection, path }: Place): string {
  return path === ""
    ? `No files found in collection: ${collection}\n`
    : `No files found under qmd://${collection}/${path}\n`;
}

function documentsText(
  open: OpenQmd,
  collection: string,
  rows: readonly { path: string; characters: number; modifiedAt: string }[],
): string {
  const sizes = rows.map(({ characters }) => sizeText(characters));
  const width = Math.max(...sizes.map((size) => size.length));
  const now = Date.now();
  const lines = rows.map(({ path, modifiedAt }, at) => {
    const size = (sizes[at] ?? "").padStart(width);
    return `${size}  ${dateText(new Date(modifiedAt), now)}  ${printableName(documentName(open, { collection, path }))}`;
  });
  return `${lines.join("\n")}\n`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const HALF_A_YEAR_MS = 180 * 86_400_000;

/** As `ls -l` writes it, in this machine's zone: the time of day, or of what is more than 180 days away the year. */
function dateText(date: Date, now: number): string {
  if (Number.isNaN(date.getTime())) return "            ";
  const two = (value: number): string => String(value).padStart(2, "0");
  const end =
    Math.abs(now - date.getTime()) > HALF_A_YEAR_MS
      ? ` ${date.getFullYear()}`
      : `${two(date.getHours())}:${two(date.getMinutes())}`;
  return `${MONTHS[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${end}`;
}
