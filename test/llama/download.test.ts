import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pullModel, presentModel, type ModelFolders } from "../../src/llama/models.ts";
import { temporaryFolder } from "../temporary.ts";

const content = Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(300_000, "model ")]);
const spec = "hf:user/Small-GGUF/small-q8.gguf";
const fileName = "hf_user_small-q8.gguf";

type Seen = { method: string; path: string; range: string | null; authorization: string | null };

/** A hub: answers with a redirect that tells size and checksum, and serves ranges from its storage. */
type Hub = {
  url: string;
  seen: Seen[];
  /** What it serves, and faults: bytes after which the next answers break off, another checksum, a status. */
  body: Buffer<ArrayBuffer>;
  breakAfter: number[];
  sha256: string | null;
  status: number;
  stop(): Promise<void>;
};

function startHub(): Hub {
  const hub: Omit<Hub, "url" | "stop"> = { seen: [], body: content, breakAfter: [], sha256: null, status: 200 };
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url);
      const range = request.headers.get("range");
      hub.seen.push({
        method: request.method,
        path: pathname,
        range,
        authorization: request.headers.get("authorization"),
      });
      if (hub.status !== 200) return new Response("no", { status: hub.status });
      if (pathname.startsWith("/v2/")) return Response.json({ ggufFile: { rfilename: "small-q8.gguf" } });
      if (pathname !== "/storage") {
        const digest = hub.sha256 ?? createHash("sha256").update(hub.body).digest("hex");
        const headers = {
          "x-linked-etag": `"${digest}"`,
          "x-linked-size": String(hub.body.length),
          location: "/storage",
        };
        return new Response(null, { status: 302, headers });
      }
      const start = Number(/^bytes=(\d+)-/.exec(range ?? "")?.[1] ?? 0);
      const length = hub.body.length - start;
      const headers = new Headers({ "content-length": String(length) });
      if (range !== null) headers.set("content-range", `bytes ${start}-${hub.body.length - 1}/${hub.body.length}`);
      if (request.method === "HEAD") return new Response(null, { headers });
      const cut = hub.breakAfter.shift();
      const part = hub.body.subarray(start, cut === undefined ? undefined : start + cut);
      // A body shorter than announced: chunked, so the end is where it ends.
      if (cut !== undefined) headers.delete("content-length");
      return new Response(new Uint8Array(part), { status: range === null ? 200 : 206, headers });
    },
  });
  return Object.assign(hub, { url: server.url.origin, stop: () => server.stop(true) });
}

let hub: Hub;
let folder: string;
let folders: ModelFolders;
beforeEach(() => {
  hub = startHub();
  folder = temporaryFolder("download-");
  folders = { own: folder, others: [] };
  process.env["HF_ENDPOINT"] = hub.url;
});
afterEach(async () => {
  delete process.env["HF_ENDPOINT"];
  delete process.env["HF_TOKEN"];
  await hub.stop();
  rmSync(folder, { recursive: true, force: true });
});

const target = () => join(folder, fileName);
const files = () =>
  readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .sort();
const gets = () => hub.seen.filter(({ method, path }) => method === "GET" && path === "/storage");
const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: unknown) => error as { code: string; message: string; hint: string },
  );

/** Pulls in a process of its own and returns whether that downloaded anything. */
async function pulledByChild(env: NodeJS.ProcessEnv): Promise<string> {
  const script = `import { pullModel } from ${JSON.stringify(join(import.meta.dir, "../../src/llama/models.ts"))};
    const { downloaded } = await pullModel(${JSON.stringify(spec)}, { own: ${JSON.stringify(folder)}, others: [] });
    console.log(downloaded);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", env });
  return (await new Response(child.stdout).text()).trim();
}

describe("a download", () => {
  test("arrives whole, private, with progress, and is then found without asking", async () => {
    const progress: number[] = [];
    const pulled = await pullModel(spec, folders, { onProgress: ({ received }) => progress.push(received) });
    expect(pulled).toEqual({ path: target(), bytes: content.length, downloaded: true });
    expect(readFileSync(target())).toEqual(content);
    expect(statSync(target()).mode & 0o777).toBe(0o600);
    expect(progress.at(-1)).toBe(content.length);
    expect(files()).toEqual([fileName, `${fileName}.etag`]);
    const requests = hub.seen.length;
    expect((await pullModel(spec, folders)).downloaded).toBe(false);
    expect(presentModel(spec, folders)).toBe(target());
    expect(hub.seen.length).toBe(requests);
  });

  test("an address with a key in it is told without the key", async () => {
    using server = Bun.serve({ port: 0, fetch: () => new Response("", { status: 404 }) });
    const { host } = server.url;
    const error = await failure(pullModel(`http://me:pass@${host}/m.gguf?token=hidden`, folders));
    expect(error?.message).toBe(`http://${host}/m.gguf does not exist.`);
  });

  test("goes on where the connection broke", async () => {
    hub.breakAfter = [100_000, 50_000];
    await pullModel(spec, folders);
    expect(readFileSync(target())).toEqual(content);
    expect(gets().map(({ range }) => range)).toEqual([null, "bytes=100000-", "bytes=150000-"]);
  });

  test("goes on where an earlier process stopped", async () => {
    const controller = new AbortController();
    hub.breakAfter = [120_000];
    const first = pullModel(spec, folders, {
      signal: controller.signal,
      onProgress: ({ received }) => received === 120_000 && controller.abort(new Error("stopped")),
    });
    expect(first).rejects.toThrow("stopped");
    await failure(first);
    expect(existsSync(target())).toBe(false);
    await pullModel(spec, folders);
    expect(readFileSync(target())).toEqual(content);
    expect(gets().at(-1)?.range).toBe("bytes=120000-");
  });

  test("starts anew when the file on the hub is another one by now", async () => {
    const controller = new AbortController();
    hub.breakAfter = [120_000];
    await failure(
      pullModel(spec, folders, {
        signal: controller.signal,
        onProgress: ({ received }) => received === 120_000 && controller.abort(),
      }),
    );
    hub.body = Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(200_000, "other ")]);
    await pullModel(spec, folders);
    expect(readFileSync(target())).toEqual(hub.body);
    expect(files()).toEqual([fileName, `${fileName}.etag`]);
  });

  test("that several processes want happens once", async () => {
    const outputs = await Promise.all([1, 2, 3].map(() => pulledByChild(process.env)));
    expect(outputs.sort()).toEqual(["false", "false", "true"]);
    expect(gets()).toHaveLength(1);
  });

  test("goes through the proxy that the environment names", async () => {
    const seen: string[] = [];
    const proxy = createServer((request, response) => {
      const { host, pathname } = new URL(request.url ?? "");
      seen.push(host);
      const { method = "GET" } = request;
      const answered = fetch(`${hub.url}${pathname}`, { method, redirect: "manual" });
      void (async () => {
        const answer = await answered;
        response.writeHead(answer.status, Object.fromEntries(answer.headers));
        response.end(method === "HEAD" ? undefined : Buffer.from(await answer.arrayBuffer()));
      })();
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const { port } = proxy.address() as AddressInfo;
    const env = { ...process.env, HF_ENDPOINT: "http://hub.invalid", HTTP_PROXY: `http://127.0.0.1:${port}` };
    expect(await pulledByChild(env)).toBe("true");
    expect(readFileSync(target())).toEqual(content);
    expect(new Set(seen)).toEqual(new Set(["hub.invalid"]));
    proxy.close();
  });

  test("of a repository takes the file that the hub names", async () => {
    const { path } = await pullModel("hf:user/Small-GGUF:Q8_0", folders);
    expect(path).toBe(join(folder, "hf_user_Small.Q8_0.gguf"));
    expect(readFileSync(path)).toEqual(content);
  });

  test("of a plain address works without a checksum", async () => {
    const { path } = await pullModel(`${hub.url}/somewhere/plain.gguf`, folders);
    expect(readFileSync(path)).toEqual(content);
  });
});

describe("what is not a good model is not kept", () => {
  test("another checksum", async () => {
    hub.sha256 = "0".repeat(64);
    expect((await failure(pullModel(spec, folders)))?.message).toContain("SHA-256");
    expect(files()).toEqual([]);
  });

  test("a page instead of a model", async () => {
    hub.body = Buffer.from("<html>Please log in</html>".repeat(10));
    expect((await failure(pullModel(spec, folders)))?.message).toContain("not a GGUF file");
    expect(files()).toEqual([]);
  });
});

describe("what the hub says", () => {
  test("404 names the model, at once", async () => {
    hub.status = 404;
    const error = await failure(pullModel(spec, folders));
    expect(error?.code).toBe("MODEL_REFUSED");
    expect(error?.message).toContain("does not exist");
    expect(hub.seen).toHaveLength(1);
  });

  test("401 names HF_TOKEN", async () => {
    hub.status = 401;
    expect((await failure(pullModel(spec, folders)))?.hint).toContain("HF_TOKEN");
  });

  test("nothing: fails within seconds and names what to set", async () => {
    await hub.stop();
    const start = performance.now();
    const error = await failure(pullModel(spec, folders));
    expect(performance.now() - start).toBeLessThan(5000);
    expect(error?.code).toBe("MODEL_DOWNLOAD");
    expect(error?.hint).toMatch(/HF_ENDPOINT.*HTTPS_PROXY.*path of a GGUF file/);
  });

  test("a server that accepts and stays silent is given up", async () => {
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    process.env["HF_ENDPOINT"] = `http://127.0.0.1:${silent.port}`;
    const error = await failure(pullModel(spec, folders, { connectTimeoutMs: 200 }));
    expect(error?.message).toContain("no answer within 0.2 s");
    silent.stop(true);
  });
});

describe("the hub's key", () => {
  test("never goes to a mirror", async () => {
    process.env["HF_TOKEN"] = "hf_secret";
    await pullModel(spec, folders);
    expect(hub.seen.map(({ authorization }) => authorization)).toEqual(hub.seen.map(() => null));
  });

  test("goes to the hub, and not where it redirects to", async () => {
    delete process.env["HF_ENDPOINT"];
    const seen: [string, string | null][] = [];
    await pullModel(spec, folders, {
      env: { HF_TOKEN: "hf_secret" },
      fetch: (url, init) => {
        const { origin, pathname } = new URL(url);
        seen.push([origin, new Headers(init.headers).get("authorization")]);
        return fetch(`${hub.url}${pathname}`, init).then((response) => {
          if (response.headers.get("location") === null) return response;
          const headers = new Headers(response.headers);
          headers.set("location", "https://storage.example/storage");
          return new Response(null, { status: response.status, headers });
        });
      },
    });
    expect(seen.filter(([, key]) => key !== null).map(([origin]) => origin)).toEqual([
      "https://huggingface.co",
      "https://huggingface.co",
    ]);
    expect(seen.some(([origin]) => origin === "https://storage.example")).toBe(true);
  });
});

describe("a good model", () => {
  test("stays when a refresh can't reach the hub", async () => {
    await pullModel(spec, folders);
    await hub.stop();
    expect((await failure(pullModel(spec, folders, { refresh: true })))?.code).toBe("MODEL_DOWNLOAD");
    expect(readFileSync(target())).toEqual(content);
  });

  test("is not fetched again by a refresh that finds it current, and is when it is not", async () => {
    await pullModel(spec, folders);
    expect((await pullModel(spec, folders, { refresh: true })).downloaded).toBe(false);
    expect(gets()).toHaveLength(1);
    hub.body = Buffer.concat([Buffer.from("GGUF"), Buffer.alloc(200_000, "newer ")]);
    expect((await pullModel(spec, folders, { refresh: true })).downloaded).toBe(true);
    expect(readFileSync(target())).toEqual(hub.body);
  });

  test("in another tool's folder is used where it is", async () => {
    const other = temporaryFolder("other-");
    writeFileSync(join(other, fileName), content);
    const pulled = await pullModel(spec, { own: folder, others: [other] });
    expect(pulled).toEqual({ path: join(other, fileName), bytes: content.length, downloaded: false });
    expect(hub.seen).toEqual([]);
  });

  test("given by its path is used, and a missing one is named", async () => {
    writeFileSync(join(folder, "own.gguf"), content);
    expect((await pullModel(join(folder, "own.gguf"), folders)).path).toBe(join(folder, "own.gguf"));
    expect((await failure(pullModel(join(folder, "none.gguf"), folders)))?.code).toBe("MODEL_MISSING");
  });
});
