import type { QmdCollectionConfig } from "../../home/index-yml.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { notice, writeOut } from "../../output.ts";
import { openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import { orphanedVectorKeys, vectorCount } from "../../store/maintenance.ts";
import { pendingEmbeddings } from "../../sync/pending.ts";
import type { Invocation } from "../parse.ts";
import { qmdHomeOf } from "../qmd/home.ts";
import { embedHint, indexCollection, writing } from "../qmd/indexing.ts";
import { gated } from "../qmd/trust-gate.ts";

/** From this share of orphaned vectors on, `cleanup` is recommended. */
const ORPHANS_WORTH_SAYING = 0.1;

/** How long the pipes of a command that has ended are read: what it left in the background may hold them open for ever. */
const PIPE_MS = 250;

/**
 * `update`: runs the collections' update commands where they are trusted, and indexes what changed. The exit code is that of the first
 * command that failed; the notes are indexed all the same.
 */
export async function run(invocation: Invocation): Promise<number> {
  const { program } = invocation;
  const qmd = await gated(invocation, await qmdHomeOf(invocation));
  const { collections } = qmd.config;
  if (collections.length === 0) {
    writeOut(`No collections found. Run '${program} collection add .' to index markdown files.\n`);
    return 0;
  }
  writeOut(`Updating ${collections.length} collection(s)...\n\n`);
  let failed = 0;
  for (const [at, collection] of collections.entries()) {
    writeOut(`[${at + 1}/${collections.length}] ${collection.name} (${collection.pattern})\n`);
    const code = await runHook(collection, qmd);
    failed ||= code;
    await writing(qmd, (index, current) => updateCollection(index, current, collection.name));
    writeOut("\n");
  }
  writeOut(failed === 0 ? "✓ All collections updated.\n" : "");
  await printAdvice(qmd, program);
  return failed;
}

/** Indexes a collection, unless another command has renamed or removed it while this one was on its way. */
async function updateCollection(index: Index, qmd: QmdHome, name: string): Promise<void> {
  if (qmd.config.collections.some((one) => one.name === name)) await indexCollection(index, qmd, name);
  else notice(`'${name}' was renamed or removed meanwhile: nothing of it was indexed under that name.`);
}

async function printAdvice(qmd: QmdHome, program: string): Promise<void> {
  const index = openIndex(qmd.places.indexPath, { mode: "read" });
  try {
    writeOut(embedHint((await pendingEmbeddings(index, qmd.home)).documents, program));
    const vectors = vectorCount(index);
    const orphans = vectors === 0 ? 0 : orphanedVectorKeys(index).length;
    if (vectors > 0 && orphans / vectors >= ORPHANS_WORTH_SAYING) {
      const share = Math.round((orphans / vectors) * 100);
      writeOut(
        `\n${orphans} orphaned embedding chunks (${share}% of vectors) — run '${program} cleanup' to reclaim space\n`,
      );
    }
  } finally {
    index.close();
  }
}

/** Runs a collection's update command in its folder, if there is one that may run; returns its exit code. */
async function runHook({ name, update }: QmdCollectionConfig, qmd: QmdHome): Promise<number> {
  const root = qmd.home.collections.find((one) => one.name === name)?.root;
  if (update === undefined || root === undefined || qmd.trust.state === "untrusted") return 0;
  writeOut(`    Running update command: ${update}\n`);
  const child = Bun.spawn(["bash", "-c", update], { cwd: root, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const end = (): void => child.kill();
  process.once("exit", end);
  const ended = child.exited.then(() => Bun.sleep(PIPE_MS));
  const [stdout, stderr] = await Promise.all([textUntil(child.stdout, ended), textUntil(child.stderr, ended)]);
  const code = await child.exited;
  process.off("exit", end);
  writeOut(indented(stdout) + indented(stderr));
  if (code !== 0) writeOut(`✗ Update command failed with exit code ${code}\n`);
  return code;
}

/** What a stream holds up to its end, or until `ended` where something else keeps it open. */
async function textUntil(stream: ReadableStream<Uint8Array>, ended: Promise<unknown>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  void ended.then(() => reader.cancel());
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    text += decoder.decode(next.value, { stream: true });
  }
  return text + decoder.decode();
}

function indented(text: string): string {
  const lines = text.trimEnd();
  return lines === "" ? "" : `${lines.replace(/^/gm, "    ")}\n`;
}
