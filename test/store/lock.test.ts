import { describe, expect, test, spyOn } from "bun:test";
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MemqError } from "../../src/errors.ts";
import { withWriterLock, writerOf } from "../../src/store/lock.ts";
import { processFacts, toldByPs } from "../../src/store/process-facts.ts";
import { temporaryFolder, temporaryRoot } from "../temporary.ts";

function newIndexPath(): string {
  return join(temporaryFolder(), "index.sqlite");
}

describe("the writer lock", () => {
  test("is held by one at a time, privately, and leaves nothing behind", async () => {
    const path = newIndexPath();
    let inside = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, ++inside);
      expect(statSync(`${path}.lock`).mode & 0o777).toBe(0o600);
      expect(writerOf(path)).toBe(process.pid);
      await Bun.sleep(2);
      inside--;
    };
    await Promise.all(Array.from({ length: 6 }, () => withWriterLock(path, work)));
    expect([most, readdirSync(dirname(path))]).toEqual([1, []]);
    expect(writerOf(path)).toBeNull();
  });

  test("is released when the work fails", async () => {
    const path = newIndexPath();
    const failing = withWriterLock(path, () => {
      throw new Error("failed");
    });
    expect(failing).rejects.toThrow("failed");
    await failing.catch(() => undefined);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test("stayed held when no file was left to open as the work ended", async () => {
    const path = newIndexPath();
    const child = join(import.meta.dir, "child.ts");
    const { exitCode } = Bun.spawnSync([
      "sh",
      "-c",
      'ulimit -n 60; exec "$@"',
      "sh",
      process.execPath,
      child,
      "exhaust",
      path,
    ]);
    expect(exitCode).toBe(0);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test("of a living process is waited for, and then reported as busy", async () => {
    const path = newIndexPath();
    const holder = Bun.spawn(["sleep", "60"]);
    writeFileSync(`${path}.lock`, JSON.stringify({ pid: holder.pid, started: "" }));
    const error: unknown = await withWriterLock(path, () => "never", { timeoutMs: 60 }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(MemqError);
    expect(error).toMatchObject({ code: "INDEX_BUSY", exitCode: 75 });
    holder.kill("SIGKILL");
    await holder.exited;
    expect(await withWriterLock(path, () => "done", { timeoutMs: 1000 })).toBe("done");
  });

  test.each([
    ["a reused process id", JSON.stringify({ pid: process.pid, started: "12345" })],
    ["a process that never was", JSON.stringify({ pid: 2 ** 22 + 1, started: "" })],
    ["an empty file", ""],
    ["another program's text", "hello"],
  ])("of %s is not believed", async (_, content) => {
    const path = newIndexPath();
    writeFileSync(`${path}.lock`, content);
    expect(writerOf(path)).toBeNull();
    expect(await withWriterLock(path, () => "done", { timeoutMs: 500 })).toBe("done");
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test("stayed held by a process that had ended where its parent did not ask for it", async () => {
    const path = newIndexPath();
    // The inner shell ends, and what its parent has become by then asks for no child.
    const parent = Bun.spawn(["sh", "-c", "sh -c 'echo $$' & exec sleep 600"], { stdout: "pipe" });
    const { value } = await parent.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    while (!toldByPs(pid, "state")?.startsWith("Z")) await Bun.sleep(5);
    const { started } = processFacts(pid);
    writeFileSync(`${path}.lock`, JSON.stringify({ pid, started }));
    try {
      expect(writerOf(path)).toBeNull();
      expect(await withWriterLock(path, () => "done", { timeoutMs: 0 })).toBe("done");
    } finally {
      parent.kill();
    }
  });

  test("is taken by one process at a time when many find a stale one", async () => {
    const path = newIndexPath();
    const log = `${path}.log`;
    writeFileSync(`${path}.lock`, JSON.stringify({ pid: 2 ** 22 + 1, started: "" }));
    const children = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, join(import.meta.dir, "child.ts"), "lock", path, log], { stderr: "inherit" }),
    );
    expect(await Promise.all(children.map((child) => child.exited))).toEqual(children.map(() => 0));
    const words = readFileSync(log, "utf8").trim().split("\n");
    expect(words).toHaveLength(12);
    for (let i = 0; i < words.length; i += 2) expect(words[i + 1]).toBe(words[i]!.replace("in", "out"));
  });
});

test("a folder that takes no lock is named, and not a file of the moment", async () => {
  const folder = temporaryFolder();
  // The lock's own name is as long as names can be: what is written beside it has none.
  const refused = withWriterLock(join(folder, "x".repeat(250)), () => {});
  expect(await refused.catch((error: unknown) => error)).toMatchObject({ path: folder });
});

/** As somebody whom permissions bind: root is none. */
const bound = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--clear-groups"] : [];

test.skipIf(bound.length > 0 && Bun.which("setpriv") === null)(
  "a lock stayed taken where its folder may not be listed",
  async () => {
    const folder = temporaryFolder();
    chmodSync(temporaryRoot, 0o755);
    if (bound.length > 0) chownSync(folder, 65534, 65534);
    chmodSync(folder, 0o300);
    const child = [process.execPath, join(import.meta.dir, "child.ts"), "lock"];
    const { exited } = Bun.spawn([...bound, ...child, join(folder, "index.sqlite"), join(folder, "log")], {
      env: { ...process.env, HOME: folder },
    });
    expect(await exited).toBe(0);
    chmodSync(folder, 0o700);
    expect(readdirSync(folder)).toEqual(["log"]);
  },
);

test.each(["UTC", "Pacific/Auckland", "America/St_Johns"])(
  "a holder asked about from another time zone counted as dead (%s)",
  (zone) => {
    const { TZ, LC_ALL } = process.env;
    Object.assign(process.env, { TZ: zone, LC_ALL: "de_DE.UTF-8" });
    const told = toldByPs(process.pid, "lstart");
    for (const [name, value] of Object.entries({ TZ, LC_ALL })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    // Seconds of slack: what the system tells is rounded.
    expect(Math.abs(Date.parse(`${told} UTC`) - performance.timeOrigin)).toBeLessThan(5000);
  },
);

test.each([
  [1100, true],
  [1000, false],
])(
  "a writer that a busy machine kept from looking said by chance whom it had waited for (%i ms)",
  async (timeoutMs, says) => {
    const path = join(temporaryFolder(), "index.sqlite");
    const said = spyOn(console, "error").mockImplementation(() => {});
    await withWriterLock(path, async () => {
      const waiting = withWriterLock(path, () => {}, { timeoutMs });
      // It has looked once, and looks again when its time is over.
      Bun.sleepSync(1200);
      expect(await waiting.catch((error: unknown) => error)).toMatchObject({ code: "INDEX_BUSY" });
    });
    const sentences = said.mock.calls.map(([sentence]) => String(sentence));
    said.mockRestore();
    expect(sentences).toEqual(says ? [`Waiting for process ${process.pid}, which is writing to ${path}.`] : []);
  },
);
