import { runningServer } from "../../gateway/mcp/daemon.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { notice, writeOut } from "../../output.ts";
import { printableText, withoutCredentials } from "../../printable.ts";
import { documentCounts } from "../../store/documents.ts";
import { indexSizes, orphanedVectorKeys, vectorCount } from "../../store/maintenance.ts";
import { openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import { pendingEmbeddings } from "../../sync/pending.ts";
import type { Invocation } from "../parse.ts";
import type { Program } from "../../version.ts";
import { noteHome, qmdHomeOf } from "../qmd/home.ts";
import { ago, sizeText } from "../qmd/words.ts";
import { notesDaemonFiles } from "./mcp-home.ts";

const CONTEXT_CHARS = 60;

/** `status`: what the index holds. */
export async function run(invocation: Invocation): Promise<void> {
  const { program } = invocation;
  const qmd = await qmdHomeOf(invocation);
  noteHome(qmd);
  const index = openIndex(qmd.places.indexPath, { mode: "read" });
  try {
    for (const warning of index.warnings) notice(warning);
    const { file, wal } = indexSizes(qmd.places.indexPath);
    const server = runningServer(notesDaemonFiles(qmd.places));
    const lines = [
      `${program === "qmd" ? "QMD" : "memq"} Status`,
      "",
      `Index: ${qmd.places.indexPath}`,
      `Size:  ${sizeText(file + wal)}`,
      ...(server === null ? [] : [`MCP:   running (PID ${server})`]),
      "",
      ...(await documentLines(index, qmd, program)),
      "",
      ...collectionLines(index, qmd, program),
      "",
      "Models",
      `  Embedding:   ${modelAddress(qmd.models.embed)}`,
      `  Reranking:   ${modelAddress(qmd.models.rerank)}`,
      `  Generation:  ${modelAddress(qmd.models.generate)}`,
    ];
    writeOut(`${lines.map(printableText).join("\n")}\n`);
  } finally {
    index.close();
  }
}

async function documentLines(index: Index, qmd: QmdHome, program: Program): Promise<string[]> {
  const counts = documentCounts(index);
  const vectors = vectorCount(index);
  const orphans = vectors === 0 ? 0 : orphanedVectorKeys(index).length;
  const pending = (await pendingEmbeddings(index, qmd.home)).documents;
  const newest = counts
    .map(({ updatedAt }) => updatedAt)
    .sort()
    .at(-1);
  const share = Math.round((orphans / Math.max(1, vectors)) * 100);
  return [
    "Documents",
    `  Total:    ${counts.reduce((sum, { count }) => sum + count, 0)} files indexed`,
    `  Vectors:  ${vectors} embedded`,
    ...(orphans === 0 ? [] : [`  Orphaned: ${orphans} embedding chunks (${share}%) — run '${program} cleanup'`]),
    ...(pending === 0 ? [] : [`  Pending:  ${pending} need embedding (run '${program} embed')`]),
    ...(newest === undefined ? [] : [`  Updated:  ${ago(newest)}`]),
  ];
}

function collectionLines(index: Index, { config }: QmdHome, program: Program): string[] {
  const [first] = config.collections;
  if (first === undefined) {
    return [`No collections. Run '${program} collection add .' to index markdown files.`];
  }
  const counts = new Map(documentCounts(index).map((row) => [row.collection, row]));
  return [
    "Collections",
    ...config.collections.flatMap(({ name, pattern, context }) => {
      const row = counts.get(name);
      const contexts = Object.entries(context);
      return [
        `  ${name} (qmd://${name}/)`,
        `    Pattern:  ${pattern}`,
        `    Files:    ${row?.count ?? 0} (updated ${row === undefined ? "never" : ago(row.updatedAt)})`,
        ...(contexts.length === 0 ? [] : [`    Contexts: ${contexts.length}`]),
        ...contexts.map(([prefix, text]) => `      /${prefix.replace(/^\//, "")}: ${shortened(text)}`),
      ];
    }),
    "",
    "Examples",
    "  # The documents of a collection",
    `  ${program} ls ${first.name}`,
    "  # One document",
    `  ${program} get qmd://${first.name}/path/to/file.md`,
    "  # Search in one collection",
    `  ${program} search "query" -c ${first.name}`,
  ];
}

function shortened(text: string): string {
  return text.length > CONTEXT_CHARS ? `${text.slice(0, CONTEXT_CHARS - 3)}...` : text;
}

/** A model of the hub by the address of its page. */
function modelAddress(uri: string): string {
  const repository = /^hf:(?:\/\/)?([^/]+\/[^/:#]+)/.exec(uri)?.[1];
  return repository === undefined ? withoutCredentials(uri) : `https://huggingface.co/${repository}`;
}
