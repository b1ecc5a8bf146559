import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { MemqError } from "../errors.ts";
import { downloadFile, fetchJson, fileSha256, remoteFile, type DownloadOptions } from "./download.ts";
import { cacheHome, createFolder } from "./folders.ts";
import { checkGguf } from "./gguf.ts";
import { parseModelSource, taggedFile, type ModelSource } from "./model-source.ts";

/** Folders where models are: `own` is downloaded to, in all of them is looked. */
export type ModelFolders = { own: string; others: string[] };

/** The models folders of a home: qmd's `<cache>/qmd/models`, node-llama-cpp's `~/.node-llama-cpp/models`, or the given one. */
export function modelFolders(
  kind: "agent" | "qmd",
  given?: string,
  env: NodeJS.ProcessEnv = process.env,
): ModelFolders {
  const qmd = join(cacheHome(env), "qmd/models");
  const shared = join(env["HOME"] || homedir(), ".node-llama-cpp/models");
  const own = given !== undefined && isAbsolute(given) ? given : kind === "qmd" ? qmd : shared;
  return { own, others: [qmd, shared].filter((folder) => folder !== own) };
}

/** Path of the model's file when it is on this disk, without asking anybody. Throws `MODEL_SPEC` for what names no model. */
export function presentModel(spec: string, folders: ModelFolders): string | null {
  const source = parseModelSource(spec);
  if (source.kind === "file") return existsSync(source.path) ? source.path : null;
  const names = source.kind === "remote" ? [source.fileName] : source.fileNames;
  const paths = [folders.own, ...folders.others].flatMap((folder) => names.map((name) => join(folder, name)));
  return paths.find((path) => partsOf(path).every(existsSync)) ?? null;
}

export type PullOptions = Omit<DownloadOptions, "signal"> & {
  signal?: AbortSignal;
  /** Ask the server whether it has another version; a good file stays until the new one is whole. */
  refresh?: boolean;
  /** Another process is downloading to the same folder. */
  onWait?: () => void;
};

export type PulledModel = { path: string; bytes: number; downloaded: boolean };

/**
 * Makes sure that a model is on this disk, downloading what is missing, and returns where it is. Throws `MODEL_MISSING` (no such
 * file), `MODEL_DOWNLOAD` (not reachable, damaged), `MODEL_REFUSED` (the server says no), `MODEL_INVALID` (no GGUF).
 */
export async function pullModel(spec: string, folders: ModelFolders, options: PullOptions = {}): Promise<PulledModel> {
  const present = presentModel(spec, folders);
  const source = parseModelSource(spec);
  if (source.kind === "file" || (present !== null && options.refresh !== true)) {
    const path = present ?? (source.kind === "file" ? source.path : "");
    await checkGguf(path);
    return { path, bytes: await sizeOf(path), downloaded: false };
  }
  const settings: DownloadOptions = { ...options, signal: options.signal ?? new AbortController().signal };
  createFolder(folders.own);
  const { lockFile } = await import("./lock.ts");
  const release = await lockFile(join(folders.own, ".memq.lock"), settings.signal, options.onWait ?? (() => undefined));
  try {
    // Another process may have brought it while this one waited.
    const arrived = presentModel(spec, folders);
    if (arrived !== null && options.refresh !== true) {
      return { path: arrived, bytes: await sizeOf(arrived), downloaded: false };
    }
    return await fetchModel(await namedFile(source, settings), folders, settings);
  } finally {
    release();
  }
}

async function fetchModel(
  source: { url: string; fileName: string },
  folders: ModelFolders,
  options: DownloadOptions,
): Promise<PulledModel> {
  const first = join(folders.own, source.fileName);
  let downloaded = false;
  const urls = partsOf(source.url);
  for (const [index, path] of partsOf(first).entries()) {
    const url = urls[index] ?? source.url;
    const remote = await remoteFile(url, options);
    if (await isCurrent(path, remote)) continue;
    await downloadFile(url, path, remote, options);
    // qmd keeps the ETag beside the model to see whether the hub has another version.
    writeFileSync(`${path}.etag`, `"${remote.etag}"`, { mode: 0o600 });
    downloaded = true;
  }
  return { path: first, bytes: await sizeOf(first), downloaded };
}

/** Whether the file here is the server's: by checksum where there is one, else by size and the ETag kept beside it. */
async function isCurrent(
  path: string,
  remote: { etag: string; size: number | null; sha256: string | null },
): Promise<boolean> {
  if (!existsSync(path)) return false;
  const { size } = await stat(path);
  if (remote.size !== null && size !== remote.size) return false;
  if (remote.sha256 !== null) return (await fileSha256(path)) === remote.sha256;
  return existsSync(`${path}.etag`) && readFileSync(`${path}.etag`, "utf8").replaceAll('"', "").trim() === remote.etag;
}

/** Asks the hub which file a tag stands for. */
async function namedFile(
  source: Exclude<ModelSource, { kind: "file" }>,
  options: DownloadOptions,
): Promise<{ url: string; fileName: string }> {
  if (source.kind === "remote") return source;
  const manifest = await fetchJson(source.manifestUrl, options);
  const file = (manifest as { ggufFile?: { rfilename?: unknown } } | null)?.ggufFile?.rfilename;
  const hub = source.manifestUrl.slice(0, source.manifestUrl.indexOf("/v2/"));
  const found = typeof file === "string" ? taggedFile(source, file, hub) : null;
  if (found?.kind === "remote") return found;
  throw new MemqError(
    "MODEL_REFUSED",
    `${source.user}/${source.repo} has no GGUF file for "${source.tag || "latest"}".`,
    {
      hint: "Name the file: hf:user/repository/file.gguf.",
    },
  );
}

/** All files of a model that was split (`…-00001-of-00003.gguf`), by the name of the first; else just this one. */
function partsOf(first: string): string[] {
  const split = /^(.*)-\d{5}-of-(\d{5})\.gguf$/i.exec(first);
  if (split === null) return [first];
  const [, stem = "", count = ""] = split;
  const numbers = Array.from({ length: Number(count) }, (_, index) => String(index + 1).padStart(5, "0"));
  return numbers.map((number) => `${stem}-${number}-of-${count}.gguf`);
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path)).size;
}
