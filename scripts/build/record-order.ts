// Records which functions a search uses, for the order of the bytecode in the executable: bun scripts/build/record-order.ts [MEMQ]
// Functions are known by a hash of their syntax, so an old record serves until much of the way of a search has changed.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { seededCorpus, writeNotes } from "../bench/corpus.ts";

const memq = resolve(process.argv[2] ?? join(import.meta.dir, "../../dist/memq"));
const folder = mkdtempSync(join(tmpdir(), "memq-order-"));
const notes = join(folder, "notes");
const order = join(folder, "order");

function run(args: string[], record = false): void {
  const env = { HOME: folder, ...(record ? { BUN_BYTECODE_ORDER_OUT: order } : {}) };
  const { exitCode, stderr } = Bun.spawnSync([memq, ...args], { env });
  if (exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${exitCode}: ${stderr.toString()}`);
}

/** What a command uses: modules and functions. The records of single names and texts are twenty times as long and gain nothing. */
function recorded(args: string[]): string[] {
  run(args, true);
  return readFileSync(order, "utf8")
    .split("\n")
    .filter((line) => /^[vFMN]/.test(line));
}

try {
  const corpus = seededCorpus(3);
  writeNotes(corpus, notes, 300);
  const query = `${corpus.word(30)} ${corpus.word(45)} ${corpus.word(60)}`;
  const memory = ["--workspace", notes, "--state-dir", join(folder, "state")];
  run(["collection", "add", notes, "--name", "notes"]);
  run(["memory", "index", ...memory]);
  const lines = [
    ...recorded(["search", query, "--json"]),
    ...recorded(["search", "NOTE-47"]),
    ...recorded(["memory", "search", query, "--json", ...memory]),
  ];
  writeFileSync(join(import.meta.dir, "search.order"), `${[...new Set(lines)].join("\n")}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
