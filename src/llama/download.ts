import { createReadStream, statSync } from "node:fs";
import { open, readdir, rename, rm, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { asMemqError, MemqError, messageOf } from "../errors.ts";
import { withoutCredentials } from "../printable.ts";
import { sha256 } from "../sha256.ts";
import { belongsToHub } from "./model-source.ts";

export type DownloadProgress = { file: string; received: number; /** 0 when the server does not say. */ total: number };
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export type DownloadOptions = {
  signal: AbortSignal;
  onProgress?: (progress: DownloadProgress) => void;
  env?: NodeJS.ProcessEnv;
  fetch?: Fetch;
  /** How long a server may take to answer, or to send anything more. */
  connectTimeoutMs?: number;
  stallTimeoutMs?: number;
};

/** What the server says of a file before it is fetched. */
export type RemoteFile = { etag: string; size: number | null; sha256: string | null };

const maxRedirects = 10;
const maxFailures = 4;

/**
 * Fetches `url` into `target`: continues what an earlier try left, checks size, SHA-256 (where the hub tells it) and kind, and
 * moves it into place at once, so that `target` is never half a file. The caller holds the folder's lock.
 */
export async function downloadFile(
  url: string,
  target: string,
  remote: RemoteFile,
  options: DownloadOptions,
): Promise<void> {
  const part = `${target}.${sha256(`${url}\n${remote.etag}`).slice(0, 12)}.part`;
  await removeOtherParts(target, part);
  const file = await open(part, "a+", 0o600);
  try {
    const hash = await receive(url, file, remote, options, basename(target));
    await checkContent(url, part, remote, hash);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, target);
}

/** Size, ETag and checksum of a file, without fetching it. Throws `MODEL_DOWNLOAD`. */
export async function remoteFile(url: string, options: DownloadOptions): Promise<RemoteFile> {
  const found: RemoteFile = { etag: "", size: null, sha256: null };
  const { response } = await request(url, { method: "HEAD" }, options, (headers) => {
    // The hub tells a file's size and checksum in the redirect to where it stores it.
    const etag = (headers.get("x-linked-etag") ?? headers.get("etag") ?? "").replace(/^W\//, "").replaceAll('"', "");
    found.etag ||= etag;
    if (/^[0-9a-f]{64}$/.test(etag)) found.sha256 ??= etag;
    const size = Number(headers.get("x-linked-size") ?? Number.NaN);
    if (Number.isSafeInteger(size) && size > 0) found.size ??= size;
  });
  // Some servers answer GET alone.
  if (response.status === 405 || response.status === 501) return found;
  if (!response.ok) throw refused(url, response.status);
  const length = Number(response.headers.get("content-length") ?? 0);
  if (length > 0) found.size ??= length;
  return found;
}

/** A JSON document of the hub. Throws `MODEL_DOWNLOAD`. */
export async function fetchJson(url: string, options: DownloadOptions): Promise<unknown> {
  // The hub lists GGUF files only for this user agent.
  const { response } = await request(url, { headers: { "user-agent": "llama-cpp" } }, options);
  if (!response.ok) throw refused(url, response.status);
  return response.json().catch((error: unknown) => {
    options.signal.throwIfAborted();
    throw unreachable(url, error);
  });
}

/** SHA-256 of a file in hex. */
export async function fileSha256(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Receives until the file is whole; a broken connection is taken up again where it broke while each try brings something. */
async function receive(
  url: string,
  file: FileHandle,
  remote: RemoteFile,
  options: DownloadOptions,
  name: string,
): Promise<Bun.CryptoHasher> {
  let hash = new Bun.CryptoHasher("sha256");
  let received = 0;
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false, highWaterMark: 1 << 20 })) {
    hash.update(chunk as Buffer);
    received += (chunk as Buffer).length;
  }
  for (let failures = 0; remote.size === null || received < remote.size;) {
    const before = received;
    try {
      const { response, watch } = await request(url, rangeFrom(received, remote), options);
      const isContinued = response.status === 206 && contentStart(response) === received;
      if (!response.ok && response.status !== 416) throw refused(url, response.status);
      if (!isContinued) {
        // The server starts anew (or no longer has what was begun), and so does the file.
        await file.truncate(0);
        hash = new Bun.CryptoHasher("sha256");
        received = 0;
        if (response.status === 416) throw new Error("the server does not have what was begun");
      }
      for await (const chunk of response.body ?? []) {
        watch();
        await file.appendFile(chunk);
        hash.update(chunk);
        received += chunk.length;
        // What comes beyond is no part of the file, however much it is.
        if (remote.size !== null && received > remote.size) break;
        options.onProgress?.({ file: name, received, total: remote.size ?? 0 });
      }
      if (remote.size === null) break;
      if (received < remote.size) throw new Error("the connection ended early");
    } catch (error) {
      options.signal.throwIfAborted();
      failures = received > before ? 0 : failures + 1;
      if (error instanceof MemqError && error.code === "MODEL_REFUSED") throw error;
      if (failures >= maxFailures || isDiskError(error)) throw unreachable(url, error);
      await Bun.sleep(300 * 2 ** failures);
    }
  }
  return hash;
}

function rangeFrom(received: number, remote: RemoteFile): RequestInit {
  if (received === 0) return {};
  const headers = new Headers({ range: `bytes=${received}-` });
  // Where a checksum will tell, the ETag of the storage behind the hub may differ and does not matter.
  if (remote.sha256 === null && remote.etag !== "") headers.set("if-range", `"${remote.etag}"`);
  return { headers };
}

function contentStart(response: Response): number {
  return Number(/^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1] ?? Number.NaN);
}

async function checkContent(url: string, part: string, remote: RemoteFile, hash: Bun.CryptoHasher): Promise<void> {
  const size = statSync(part).size;
  const digest = hash.digest("hex");
  const magic = await Bun.file(part).slice(0, 4).text();
  const fault =
    remote.size !== null && size !== remote.size
      ? `${size} bytes came instead of ${remote.size}`
      : remote.sha256 !== null && digest !== remote.sha256
        ? "its SHA-256 is not the one that the server tells"
        : magic === "GGUF"
          ? null
          : "it is not a GGUF file";
  if (fault === null) return;
  await rm(part, { force: true });
  throw new MemqError(
    "MODEL_DOWNLOAD",
    `${withoutCredentials(url)} was downloaded, but ${fault}; it was thrown away.`,
    {
      hint: "Try again; if it happens again, check the name or the mirror.",
    },
  );
}

async function removeOtherParts(target: string, part: string): Promise<void> {
  const prefix = `${basename(target)}.`;
  for (const name of await readdir(dirname(target))) {
    const isOther = name.startsWith(prefix) && name.endsWith(".part") && name !== basename(part);
    if (isOther) await rm(join(dirname(target), name), { force: true });
  }
}

/**
 * One request, following redirects by hand: the hub's key goes to the hub alone. `watch` must be called whenever something
 * arrives, else the request is given up.
 */
async function request(
  url: string,
  init: RequestInit,
  options: DownloadOptions,
  onHeaders?: (headers: Headers) => void,
): Promise<{ response: Response; watch: () => void }> {
  const { connectTimeoutMs = 8000, stallTimeoutMs = 30_000, env = process.env } = options;
  const send: Fetch = options.fetch ?? fetch;
  const timeout = new AbortController();
  const giveUp = (ms: number) => setTimeout(() => timeout.abort(new Error(`no answer within ${ms / 1000} s`)), ms);
  let timer = giveUp(connectTimeoutMs);
  const watch = () => {
    clearTimeout(timer);
    timer = giveUp(stallTimeoutMs);
    timer.unref();
  };
  let target = url;
  try {
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const headers = new Headers(init.headers);
      const token = env["HF_TOKEN"];
      if (token && belongsToHub(target)) headers.set("authorization", `Bearer ${token}`);
      const response = await send(target, {
        ...init,
        headers,
        redirect: "manual",
        signal: AbortSignal.any([options.signal, timeout.signal]),
      });
      onHeaders?.(response.headers);
      const location = response.headers.get("location");
      if (response.status < 300 || response.status > 399 || location === null) {
        watch();
        return { response, watch };
      }
      target = new URL(location, target).href;
    }
    throw new Error("too many redirects");
  } catch (error) {
    clearTimeout(timer);
    options.signal.throwIfAborted();
    throw unreachable(url, timeout.signal.aborted ? timeout.signal.reason : error);
  }
}

function isDiskError(error: unknown): boolean {
  return error instanceof Error && "code" in error && ["ENOSPC", "EDQUOT", "EROFS", "EIO"].includes(String(error.code));
}

function unreachable(url: string, error: unknown): MemqError {
  if (error instanceof MemqError) return error;
  if (isDiskError(error)) return asMemqError(error);
  return new MemqError(
    "MODEL_DOWNLOAD",
    `${withoutCredentials(url)} could not be downloaded: ${messageOf(error).split("\n")[0]}`,
    {
      hint: "Set HF_ENDPOINT to a mirror or HTTPS_PROXY to a proxy, or give the path of a GGUF file as the model.",
      cause: error,
    },
  );
}

function refused(url: string, status: number): MemqError {
  const why =
    status === 401 || status === 403 ? "needs a key" : status === 404 ? "does not exist" : `answered ${status}`;
  return new MemqError(
    status >= 500 || status === 429 ? "MODEL_DOWNLOAD" : "MODEL_REFUSED",
    `${withoutCredentials(url)} ${why}.`,
    {
      hint:
        status === 401 || status === 403
          ? "Set HF_TOKEN to a key of huggingface.co, or give the path of a GGUF file as the model."
          : "Check the model's name, set HF_ENDPOINT to a mirror, or give the path of a GGUF file as the model.",
    },
  );
}
