import { Database } from "bun:sqlite";
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { childEnv, memqCommand, type Outcome, outcomeOf } from "../cli/program.ts";
import { sharedPath } from "../shared.ts";
import { temporaryFolder } from "../temporary.ts";

// As many processes as a gateway starts in an hour.
setDefaultTimeout(180_000);

type Call = {
  mode: string;
  phase: string;
  argv: string[];
  env: Record<string, string>;
  stdout: string;
  exit: number | null;
};
type Row = { docid: string; score: number; file: string; collection: string; start_line: number; end_line: number };

const RECORDINGS = ["golden/openclaw-2026.7.35-qmd-calls.jsonl", "golden/openclaw-2026.3.13-qmd-calls.jsonl"];
const recorded = new Map(
  RECORDINGS.flatMap((name): [string, Call[]][] => {
    const path = sharedPath(name);
    if (path === null) return [];
    const calls = readFileSync(path, "utf8").trim().split("\n");
    return [[name, calls.map((line) => JSON.parse(line) as Call)]];
  }),
);

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe.each(RECORDINGS)("the calls of %s", (name) => {
  const calls = recorded.get(name) ?? [];
  const modes = [...new Set(calls.map(({ mode }) => mode))];
  test.skipIf(calls.length === 0)("are answered as the gateway expects", async () => {
    for (const mode of modes.length > 0 ? modes : []) {
      const run = gatewayRun(calls);
      const own = replayed(calls.filter((call) => call.mode === mode));
      for (let at = 0; at < own.length; at++) {
        const batch = [own[at]!];
        // The gateway's searches run beside one another; what writes runs alone.
        while (isReading(own[at]) && isReading(own[at + 1]) && batch.length < 6) batch.push(own[++at]!);
        if (batch[0]?.phase === "search/gateway-edit") run.write("ws/memory/2026-03-05.md");
        await Promise.all(batch.map(async (call) => checkAnswer(call, await run.call(call), run.root)));
      }
      checkSql(run.indexPath);
    }
  });
});

/**
 * A gateway asks every collection (or group of them) by itself: of the searches that found nothing, one in eight is enough, unless
 * MEMQ_REPLAY=all wants the whole hour.
 */
function replayed(calls: readonly Call[]): Call[] {
  const all = process.env["MEMQ_REPLAY"] === "all";
  let empty = 0;
  return calls.filter((call) => all || !isReading(call) || call.stdout.trim() !== "[]" || empty++ % 8 === 0);
}

function isReading(call: Call | undefined): boolean {
  return call !== undefined && ["search", "vsearch"].includes(call.argv[0] ?? "");
}

type Run = {
  root: string;
  indexPath: string;
  call: (call: Call) => Promise<Outcome>;
  write: (path: string) => void;
};

/** A gateway's state folder and the notes that the recorded answers show, for one recording. */
function gatewayRun(calls: readonly Call[]): Run {
  const root = temporaryFolder("gateway-");
  folders.push(root);
  const notes = notesOf(calls);
  const write = (path: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), notes.get(path) ?? "");
  };
  for (const path of notes.keys()) if (!path.includes("2026-03-05")) write(path);
  const qmd = join(root, "qmd");
  const [program = "", ...first] = memqCommand();
  symlinkSync(program, qmd);
  for (const folder of ["home", "state/agents/main/qmd/xdg-cache/qmd", "state/agents/main/qmd/sessions"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  return {
    root,
    write,
    indexPath: join(root, "state/agents/main/qmd/xdg-cache/qmd/index.sqlite"),
    async call({ argv, env }) {
      const mapped = Object.entries(env).filter(([key]) => !key.startsWith("PATH_"));
      const child = Bun.spawn([qmd, ...first, ...argv.map((word) => word.replaceAll("$RUN", root))], {
        cwd: join(root, "ws"),
        env: {
          ...childEnv(),
          ...Object.fromEntries(mapped.map(([key, value]) => [key, value.replaceAll("$RUN", root)])),
          // No model can be fetched here.
          HF_ENDPOINT: "http://127.0.0.1:9",
        },
        // The gateway opens stdin and never writes to it.
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      });
      return outcomeOf(child);
    },
  };
}

/** Notes put together again from the title and the snippets of every answer. */
function notesOf(calls: readonly Call[]): Map<string, string> {
  const roots: Record<string, string> = {
    "memory-root-main": "ws",
    "memory-dir-main": "ws/memory",
    docs: "ext",
    "docs-main": "ext",
    "sessions-main": "state/agents/main/qmd/sessions",
  };
  const lines = new Map<string, string[]>();
  for (const { argv, stdout } of calls) {
    if (argv[0] !== "search" || !stdout.startsWith("[")) continue;
    for (const { file, title, snippet } of JSON.parse(stdout) as { file: string; title: string; snippet: string }[]) {
      const [, collection = "", path = ""] = /^qmd:\/\/([^/]+)\/(.*)$/.exec(file) ?? [];
      const key = `${roots[collection]}/${path}`;
      const known = lines.get(key) ?? [`# ${title}`];
      const [header = "", ...shown] = snippet.split("\n");
      const start = Number(/@@ -(\d+)/.exec(header)?.[1]);
      for (const [at, line] of shown.entries()) known[start - 1 + at] = line;
      lines.set(key, known);
    }
  }
  return new Map([...lines].map(([path, all]) => [path, Array.from(all, (line) => line ?? "").join("\n")]));
}

function checkAnswer(call: Call, outcome: Outcome, root: string): void {
  const [command = "", sub = ""] = call.argv;
  const expected = call.stdout.replaceAll("$RUN", root);
  const context = { argv: call.argv, stderr: outcome.stderr };
  const both = outcome.stdout + outcome.stderr;
  if (command === "search" || command === "vsearch" || command === "query") {
    // qmd took a query with a leading dash for options; what a gateway killed answers here.
    const isMended = call.phase === "search/x-leading-dash" || call.exit === null;
    expect({ ...context, exit: outcome.exitCode }).toEqual({ ...context, exit: isMended ? 0 : (call.exit ?? 0) });
    if (outcome.exitCode === 0) checkRows(call, outcome.stdout);
    else expect(outcome.stderr).toMatch(/collection not found/i);
    return;
  }
  if (command === "embed") {
    expect(outcome.exitCode).toBe(1);
    return;
  }
  expect({ ...context, exit: outcome.exitCode }).toEqual({ ...context, exit: 0 });
  if (command === "--version") expect(outcome.stdout).toStartWith("qmd 2.8.3");
  if (command === "--help") expect(both).toMatch(/\b(one or more collections|collection\(s\)|multiple -c flags)\b/i);
  if (command === "status") expect(both).toMatch(/^\s*Vectors(\s*[:=]\s*|\s+)(\d+)\b/im);
  if (command === "collection" && sub === "list") {
    const listed = JSON.parse(outcome.stdout) as { name: string; path: string; pattern: string }[];
    const names = [...expected.matchAll(/^([a-z0-9._-]+) \(qmd:/gm)].map(([, name]) => name);
    expect(listed.map(({ name }) => name)).toEqual(names as string[]);
    for (const { path, pattern } of listed) expect([path, pattern]).toEqual([expect.any(String), expect.any(String)]);
  }
  if (command === "collection" && sub === "show") {
    const facts = (text: string): string[] => text.match(/^\s*(Path|Pattern):.*$/gm) ?? [];
    expect(facts(outcome.stdout)).toEqual(facts(expected));
  }
}

function checkRows({ argv, stdout, phase }: Call, printed: string): void {
  const rows = JSON.parse(printed) as Row[];
  for (const { docid, score, file, collection, start_line, end_line } of rows) {
    expect(docid).toMatch(/^#[0-9a-f]{6}$/);
    expect(Number.isFinite(score) && score >= 0 && score <= 1).toBe(true);
    expect(file).toStartWith(`qmd://${collection}/`);
    expect(end_line).toBeGreaterThanOrEqual(start_line);
    const scope = argv.flatMap((word, at) => (argv[at - 1] === "-c" ? [word] : []));
    expect(scope).toContain(collection);
  }
  expect(rows.length).toBeLessThanOrEqual(Number(argv[argv.indexOf("-n") + 1]));
  if (phase === "search/x-leading-dash") return;
  const found = stdout.startsWith("[") ? (JSON.parse(stdout) as Row[]) : [];
  const files = rows.map(({ file }) => file);
  for (const { file } of found) expect(files).toContain(file);
}

/** What the gateway asks of the index file itself. */
function checkSql(indexPath: string): void {
  expect(existsSync(indexPath)).toBe(true);
  const db = new Database(indexPath, { readonly: true });
  db.run("PRAGMA busy_timeout = 1000");
  const documents = db
    .query<{ collection: string; path: string; hash: string; modified_at: string }, []>(
      "SELECT collection, path, hash, modified_at FROM documents WHERE active = 1",
    )
    .all();
  expect(documents.length).toBeGreaterThan(5);
  for (const { collection, path, hash, modified_at } of documents) {
    expect(Number.isFinite(Date.parse(modified_at))).toBe(true);
    const places = db
      .query("SELECT collection, path FROM documents WHERE hash LIKE ? AND active = 1")
      .all(`${hash.slice(0, 6)}%`);
    expect(places).toContainEqual({ collection, path });
    expect(db.query("SELECT path FROM documents WHERE hash = ? AND active = 1").all(hash)).toContainEqual({ path });
    const own = "SELECT path FROM documents WHERE collection = ? AND path = ? AND active = 1";
    expect(db.query(own).all(collection, path)).toEqual([{ path }]);
  }
  const counts = db.query("SELECT collection, COUNT(*) as c FROM documents WHERE active = 1 GROUP BY collection").all();
  expect(counts.length).toBeGreaterThan(2);
  db.close();
}
