// `embed` with a local model while processes are killed: the next run completes, and its vectors are those of a clean run.
import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openIndex } from "../../src/store/open.ts";
import { getVectors } from "../../src/store/vector-table.ts";
import { vectorCount } from "../../src/store/maintenance.ts";
import { models } from "../llama/models-folder.ts";
import { temporaryFolder } from "../temporary.ts";
import { type QmdTestHome, qmdHome } from "./homes.ts";

// Each run loads llama.cpp anew, perhaps on a busy machine.
setDefaultTimeout(60_000);

const WORDS = "coffee train garden doctor travel window river music letter winter".split(" ");
const COUNT = 96;
const NOTES = Object.fromEntries(
  Array.from({ length: COUNT }, (_, note) => {
    const words = Array.from({ length: 250 }, (_, i) => WORDS[(note * 7 + i * 3 + ((note * i) % 11)) % WORDS.length]);
    return [`notes/note-${note}.md`, `# Note ${note}\n${words.join(" ")}\n`];
  }),
);

const homes: QmdTestHome[] = [];
afterEach(endHomes);

function endHomes(): void {
  for (const home of homes.splice(0)) {
    const pid = hostPid(home);
    if (pid !== null) process.kill(pid, "SIGKILL");
    home.remove();
  }
}

async function newHome(): Promise<QmdTestHome> {
  const env = {
    XDG_RUNTIME_DIR: temporaryFolder("run-"),
    QMD_EMBED_MODEL: models.embed,
    MEMQ_MODEL_THREADS: "1",
    MEMQ_MODEL_IDLE_MS: "20000",
  };
  const home = await qmdHome(NOTES, { env });
  homes.push(home);
  return home;
}

/** The process of the home's model host, null when there is none. */
function hostPid({ env }: QmdTestHome): number | null {
  const folder = env["XDG_RUNTIME_DIR"] ?? "";
  const log = readdirSync(folder).find((name) => name.endsWith(".log"));
  const pid = /listening, pid (\d+)/.exec(log === undefined ? "" : readFileSync(join(folder, log), "utf8"))?.[1];
  if (pid === undefined) return null;
  try {
    process.kill(Number(pid), 0);
    return Number(pid);
  } catch {
    return null;
  }
}

function embedded({ indexPath }: QmdTestHome): number {
  const index = openIndex(indexPath, { mode: "read" });
  const count = vectorCount(index);
  index.close();
  return count;
}

function vectors({ indexPath }: QmdTestHome): Map<string, number[]> {
  const index = openIndex(indexPath, { mode: "read" });
  const keys = index.db.query<{ key: string }, []>("SELECT vector_key AS key FROM memq_passages ORDER BY key").all();
  const found = getVectors(
    index,
    keys.map(({ key }) => key),
  );
  index.close();
  return new Map(keys.map(({ key }) => [key, [...(found.get(key) ?? [])]]));
}

/** Starts `embed` and waits until some but not all notes have their vector. */
async function embedHalf(home: QmdTestHome): Promise<Bun.Subprocess> {
  const child = Bun.spawn(home.command("embed"), {
    cwd: home.root,
    env: { PATH: process.env["PATH"] ?? "", ...home.env },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  while (embedded(home) === 0 && child.exitCode === null) await Bun.sleep(2);
  expect(embedded(home)).toBeLessThan(COUNT);
  return child;
}

/** The vectors that a run makes which nobody disturbs. */
let clean: Map<string, number[]>;
beforeAll(async () => {
  const home = await newHome();
  expect((await home.run("embed")).exitCode).toBe(0);
  clean = vectors(home);
  expect([...clean.values()].filter((vector) => vector.length === 128)).toHaveLength(COUNT);
  endHomes();
});

test("the model host is killed in the middle: it is started again, and nothing is lost", async () => {
  const home = await newHome();
  const child = await embedHalf(home);
  process.kill(hostPid(home) ?? Number.NaN, "SIGKILL");
  expect(await child.exited).toBe(0);
  expect(vectors(home)).toEqual(clean);
});

test("embed itself is killed in the middle: the next run goes on from there", async () => {
  const home = await newHome();
  const child = await embedHalf(home);
  child.kill("SIGKILL");
  await child.exited;
  const before = embedded(home);
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(COUNT);
  const next = await home.run("embed");
  expect(next.stdout).toContain(`Embedded ${COUNT - before} chunks`);
  expect(vectors(home)).toEqual(clean);
});
