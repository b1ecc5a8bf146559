import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { createServer, connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { hostAddress } from "../../src/llama/address.ts";
import { modelHost } from "../../src/llama/client.ts";
import type { HostInfo } from "../../src/llama/protocol.ts";
import { memqCommand } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";
import { models, testFolder, type TestFolder } from "./models-folder.ts";

// Several hosts start here, each loading llama.cpp, perhaps on a busy machine.
setDefaultTimeout(30_000);

const notes = (count: number) => Array.from({ length: count }, (_, index) => `note ${index} about the release plan`);

let folder: TestFolder;
let started: ChildProcess[] = [];
const begin = () => (folder = testFolder());

afterEach(async () => {
  for (const child of started) child.kill("SIGKILL");
  started = [];
  await folder.end();
});

/** Starts a process of its own group that embeds `count` texts; resolves when it is connected to the host. */
async function startEmbedding(
  count: number,
): Promise<{ child: ChildProcess; info: HostInfo; lines: AsyncIterator<string> }> {
  const script = join(import.meta.dir, "start-and-embed.ts");
  const child = spawn(process.execPath, [script, folder.path, models.embed, String(count)], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, info: JSON.parse(String((await lines.next()).value)) as HostInfo, lines };
}

/** Waits until the host has `count` requests besides the one that asks; false when it is over before. */
async function untilPending(count: number, isOver = () => false): Promise<boolean> {
  while ((await folder.host.info()).pending !== count + 1) if (isOver()) return false;
  return true;
}

describe("one host", () => {
  test("outlives a SIGKILL of its starter's process group, and is found warm", async () => {
    begin();
    const { child, info, lines } = await startEmbedding(1);
    expect((await lines.next()).value).toBe("done");
    process.kill(-(child.pid ?? 0), "SIGKILL");
    const later = await folder.host.info();
    expect(later.pid).toBe(info.pid);
    expect(later.models).toEqual([{ path: models.embed, uses: ["embed"] }]);
  });

  test("serves processes that start at the same moment", async () => {
    begin();
    const embedding = await Promise.all([1, 2, 3, 4].map(() => startEmbedding(0)));
    expect(new Set(embedding.map(({ info }) => info.pid)).size).toBe(1);
    for (const { lines } of embedding) expect((await lines.next()).value).toBe("done");
  });

  test("was started to say that a file is no model, which takes seconds on a busy machine", async () => {
    begin();
    const path = join(folder.path, "words.gguf");
    await Bun.write(path, "words, not weights");
    const error = await folder.host.rank(path, "question", ["note"]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "MODEL_INVALID", message: `${path} is not a GGUF model.` });
    expect(existsSync(hostAddress(folder.path).socket)).toBe(false);
  });

  test("takes the place of one whose socket was left behind", async () => {
    begin();
    const { socket } = hostAddress(folder.path);
    const abandon = `require("net").createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, "SIGKILL"))`;
    await once(spawn(process.execPath, ["-e", abandon], { stdio: "ignore" }), "exit");
    expect(existsSync(socket)).toBe(true);
    expect((await folder.host.info()).pid).toBeGreaterThan(0);
  });

  test("is private: socket, lock and log are its owner's alone", async () => {
    begin();
    await folder.host.info();
    const { socket, lock, log } = hostAddress(folder.path);
    for (const path of [socket, lock, log]) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(Buffer.byteLength(socket)).toBeLessThan(100);
  });

  test("keeps a short socket path where the runtime folder is deep or foreign", () => {
    begin();
    const { XDG_RUNTIME_DIR: runtime, TMPDIR: temporary } = process.env;
    try {
      process.env["TMPDIR"] = temporaryFolder();
      for (const path of [`/tmp/${"deep/".repeat(30)}`, "/proc/1/nowhere", "/etc/hostname/none", "relative"]) {
        process.env["XDG_RUNTIME_DIR"] = path;
        const { socket } = hostAddress(folder.path);
        expect(socket.startsWith(path)).toBe(false);
        expect(Buffer.byteLength(socket)).toBeLessThan(100);
      }
      process.env["TMPDIR"] = `/tmp/${"deep/".repeat(30)}`;
      expect(Buffer.byteLength(hostAddress(folder.path).socket)).toBeLessThan(100);
    } finally {
      process.env["XDG_RUNTIME_DIR"] = runtime;
      if (temporary === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = temporary;
    }
  });

  test("is the same by any path of the folder, another for another folder", () => {
    begin();
    const { socket } = hostAddress(folder.path);
    expect(hostAddress(join(folder.path, "../", folder.path.split("/").at(-1) ?? "")).socket).toBe(socket);
    expect(hostAddress(temporaryFolder("other-")).socket).not.toBe(socket);
    symlinkSync(folder.path, join(folder.path, "link"));
    const later = hostAddress(join(folder.path, "link/later")).socket;
    mkdirSync(join(folder.path, "later"));
    expect(hostAddress(join(folder.path, "later")).socket).toBe(later);
  });

  test("is another for another build of the program", async () => {
    begin();
    const copy = temporaryFolder("checkout-");
    const root = join(import.meta.dir, "../..");
    cpSync(join(root, "src"), join(copy, "src"), { recursive: true });
    cpSync(join(root, "package.json"), join(copy, "package.json"));
    const print = `console.log((await import("./src/llama/address.ts")).hostAddress(${JSON.stringify(folder.path)}).socket)`;
    const socketIn = async (cwd: string): Promise<string> => {
      const child = Bun.spawn([process.execPath, "-e", print], { cwd, env: { ...process.env }, stdout: "pipe" });
      return (await new Response(child.stdout).text()).trim();
    };
    expect(await socketIn(root)).toBe(hostAddress(folder.path).socket);
    expect(await socketIn(copy)).toEndWith(".sock");
    expect(await socketIn(copy)).not.toBe(hostAddress(folder.path).socket);
  });

  test("leaves when it has been idle, and comes back when asked", async () => {
    begin();
    process.env["MEMQ_MODEL_IDLE_MS"] = "150";
    const { pid } = await folder.host.info();
    process.env["MEMQ_MODEL_IDLE_MS"] = "20000";
    const { socket } = hostAddress(folder.path);
    await once(connect(socket).resume(), "close");
    const next = await folder.host.info();
    expect(next.pid).not.toBe(pid);
  });

  test("leaves with its last client when so asked", async () => {
    begin();
    process.env["MEMQ_MODEL_IDLE_MS"] = "0";
    const { lines, info } = await startEmbedding(0);
    process.env["MEMQ_MODEL_IDLE_MS"] = "20000";
    expect((await lines.next()).value).toBe("done");
    const { socket } = hostAddress(folder.path);
    while (existsSync(socket)) await Bun.sleep(10);
    expect((await folder.host.info()).pid).not.toBe(info.pid);
  });
});

describe("work", () => {
  test("a question does not wait for bulk work", async () => {
    begin();
    let bulkDone = false;
    const bulk = folder.host.embed(models.embed, notes(300)).then((vectors) => {
      bulkDone = true;
      return vectors;
    });
    const other = modelHost({ modelsFolder: folder.path });
    await other.embed(models.embed, ["a question"]);
    expect(bulkDone).toBe(false);
    expect(await bulk).toHaveLength(300);
    other.close();
  });

  test("is given up when its caller gives up, and when its client dies", async () => {
    begin();
    const controller = new AbortController();
    const mine = folder.host.embed(models.embed, notes(100_000), { signal: controller.signal });
    const { child } = await startEmbedding(100_000);
    await untilPending(2);
    controller.abort(new Error("no longer wanted"));
    expect(mine).rejects.toThrow("no longer wanted");
    await untilPending(1);
    child.kill("SIGKILL");
    await untilPending(0);
  });

  test("too many requests at once are refused, not queued for ever", async () => {
    begin();
    const controller = new AbortController();
    await folder.host.embed(models.embed, ["warm"]);
    const texts = notes(500);
    const all = Array.from({ length: 70 }, () =>
      folder.host.embed(models.embed, texts, { signal: controller.signal }).catch((error: unknown) => error),
    );
    expect(await Promise.race(all)).toMatchObject({ code: "MODEL_HOST_BUSY" });
    controller.abort();
    await Promise.all(all);
  });
});

describe("a host that dies", () => {
  test("in the middle of an embed is started again, and the result is that of a clean run", async () => {
    begin();
    const other = modelHost({ modelsFolder: folder.path });
    // On a busy machine it may be over before anybody has seen it: then more is embedded.
    for (let count = 250, isKilled = false; !isKilled; count *= 2) {
      const clean = await folder.host.embed(models.embed, notes(count));
      const { pid } = await folder.host.info();
      let isOver = false;
      const embedding = other.embed(models.embed, notes(count)).finally(() => (isOver = true));
      isKilled = await untilPending(1, () => isOver);
      if (isKilled) process.kill(pid, "SIGKILL");
      expect(await embedding).toEqual(clean);
      if (isKilled) expect((await folder.host.info()).pid).not.toBe(pid);
    }
    other.close();
  });

  test("twice is an error that says so", async () => {
    begin();
    const other = modelHost({ modelsFolder: folder.path });
    const embedding = other.embed(models.embed, notes(100_000)).catch((error: unknown) => error);
    for (let deaths = 0; deaths < 2; deaths++) {
      await untilPending(1);
      process.kill((await folder.host.info()).pid, "SIGKILL");
    }
    expect(await embedding).toMatchObject({ code: "MODEL_HOST_CRASHED" });
    other.close();
  });

  test("while nobody waits is just started again", async () => {
    begin();
    const { pid } = await folder.host.info();
    const watch = connect(hostAddress(folder.path).socket).on("error", () => undefined);
    const gone = new Promise((resolve) => watch.on("close", resolve));
    await once(watch, "data");
    process.kill(pid, "SIGKILL");
    await gone;
    expect((await folder.host.info()).pid).not.toBe(pid);
  });
});

test.skipIf(process.platform !== "linux")("the host keeps no keys", async () => {
  begin();
  process.env["OPENAI_API_KEY"] = "sk-secret-of-a-test";
  process.env["CI"] = "some-system";
  try {
    const { pid } = await folder.host.info({ load: true });
    const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
    expect(environment).not.toContain("sk-secret");
    expect(environment).toContain("HOME=");
  } finally {
    delete process.env["OPENAI_API_KEY"];
    delete process.env["CI"];
  }
});

test("a host that can't start is an error at once", async () => {
  begin();
  const executable = process.execPath;
  try {
    process.execPath = "/nowhere/memq";
    const error = await folder.host.info().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "MODEL_HOST_START" });
  } finally {
    process.execPath = executable;
  }
});

test("a host that another version asks for does not start", async () => {
  begin();
  const [program = "", ...words] = memqCommand("__model-host", folder.path, "/tmp/other.sock");
  const host = spawn(program, words, { stdio: "ignore" });
  expect(await once(host, "exit")).toEqual([3, null]);
  expect(existsSync(hostAddress(folder.path).socket)).toBe(false);
});

test("a process with an idle client ends by itself", async () => {
  begin();
  const { child, lines } = await startEmbedding(0);
  expect((await lines.next()).value).toBe("done");
  if (child.exitCode === null) await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

test("a foreign program on the socket is no reason to hang", async () => {
  begin();
  const { socket } = hostAddress(folder.path);
  const foreign = createServer((client) => client.end("hello\n"));
  await once(foreign.listen(socket), "listening");
  const answer = folder.host.info().catch((error: unknown) => error);
  expect(await answer).toMatchObject({ code: "MODEL_HOST_FOREIGN" });
  foreign.close();
});
