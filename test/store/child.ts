// What tests run in processes of their own: to be killed, or to compete.
import { Database } from "bun:sqlite";
import { appendFileSync, openSync } from "node:fs";
import { reportDamage } from "../../src/store/damage.ts";
import { withWriterLock } from "../../src/store/lock.ts";
import { openIndex } from "../../src/store/open.ts";
import { missingVectors, putVectors, swapVectors } from "../../src/store/vectors.ts";
import { writeDocuments } from "../../src/store/write-documents.ts";
import { draftOf, identityOf, randomNumbers, randomVector } from "./helpers.ts";

const [task, path = "", argument = ""] = process.argv.slice(2);

/** Takes the lock and writes a line on entering and on leaving. */
async function lock(): Promise<void> {
  await withWriterLock(path, async () => {
    appendFileSync(argument, `in ${process.pid}\n`);
    await Bun.sleep(15);
    appendFileSync(argument, `out ${process.pid}\n`);
  });
}

/** Takes the lock and all files that a process may open; the lock has to be gone once the work is done. */
async function exhaust(): Promise<void> {
  await withWriterLock(path, () => {
    try {
      for (;;) openSync("/dev/null", "r");
    } catch {
      // None is left.
    }
  });
  process.exit();
}

/** Has the index to itself for a moment, as whoever makes it or closes it last. */
function hold(): void {
  const db = new Database(path);
  db.run("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
  process.stdout.write("holding\n");
  Bun.sleepSync(200);
  db.run("COMMIT");
  db.close();
}

/** Opens the index for writing and adds a document of its own. */
function open(): void {
  const index = openIndex(path, { mode: "write" });
  writeDocuments(index, [draftOf("memory", `${argument}.md`, `alpha ${argument}`)]);
  if (index.warnings.length > 0) process.exitCode = 2;
  index.close();
}

/** Reads the index and keeps it open until killed. */
function keep(): void {
  const index = openIndex(path, { mode: "read" });
  index.db.query("SELECT count(*) FROM documents").get();
  process.stdout.write("open\n");
  setInterval(() => index.state, 60_000);
}

/** Damages the index and makes it anew, over and over until killed, or once. */
function rebuild(): void {
  for (;;) {
    reportDamage(path);
    openIndex(path, { mode: "write" }).close();
    process.stdout.write("rebuilt\n");
    if (argument === "once") return;
  }
}

/** Rewrites the same documents over and over, each time with the same number in all of them, until killed. */
function write(): void {
  const index = openIndex(path, { mode: "write" });
  const random = randomNumbers(1);
  for (let round = 0; ; round++) {
    const drafts = Array.from({ length: 40 }, (_, i) =>
      draftOf("memory", `${i}.md`, `note ${i} round${round}\n\nrest ${i}`),
    );
    writeDocuments(index, drafts);
    const identity = identityOf(`model${Math.floor(round / 2)}`);
    const vectors = missingVectors(index, identity).map(({ vectorKey, textHash }) => ({
      vectorKey,
      textHash,
      vector: randomVector(random, 16),
    }));
    putVectors(index, identity, vectors);
    swapVectors(index, identity);
    if (round === 2) process.stdout.write("writing\n");
  }
}

if (task === "lock") await lock();
else if (task === "exhaust") await exhaust();
else if (task === "open") open();
else if (task === "hold") hold();
else if (task === "keep") keep();
else if (task === "rebuild") rebuild();
else write();
