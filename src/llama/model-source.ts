import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { MemqError } from "../errors.ts";
import { sha256 } from "../sha256.ts";

/** Where a model comes from. */
export type ModelSource =
  | { kind: "file"; path: string }
  /** `fileName`: what it is called in a models folder; `url` is absolute. */
  | { kind: "remote"; url: string; fileName: string }
  /** A repository of the hub that is asked which of its files to take; `fileNames` are those it may have here. */
  | { kind: "tag"; manifestUrl: string; user: string; repo: string; tag: string; fileNames: string[] };

const defaultHub = "https://huggingface.co";

/**
 * Reads a model's name: `hf:user/repo/path/file.gguf[#branch]`, `hf:user/repo[:quantisation]`, an https address, `file:…` or a
 * path. Files are called as node-llama-cpp calls them, so that what it or qmd downloaded is found. Throws `MODEL_SPEC`.
 */
export function parseModelSource(spec: string, env: NodeJS.ProcessEnv = process.env): ModelSource {
  const hub = (env["HF_ENDPOINT"] || defaultHub).replace(/\/+$/, "");
  const onHub = /^(?:hf:(?:\/\/)?|huggingface:(?:\/\/)?|hf\.co\/|huggingface\.co\/)(.*)$/.exec(spec)?.[1];
  if (onHub !== undefined) return hubSource(spec, onHub, hub);
  if (/^(https?|file):\/\//i.test(spec)) return addressSource(spec, hub);
  const path = spec.replace(/^file:/i, "").replace(/^~(?=\/)/, env["HOME"] || homedir());
  if (path === "") throw badSpec(spec);
  return { kind: "file", path: resolve(path) };
}

function addressSource(spec: string, hub: string): ModelSource {
  try {
    return /^file:/i.test(spec) ? { kind: "file", path: fileURLToPath(spec) } : urlSource(spec, hub);
  } catch (error) {
    // No address at all, one of another machine's file, or one with broken percent-encoding.
    throw error instanceof MemqError ? error : badSpec(spec);
  }
}

/** Whether a key of the hub may go with a request to this address: it belongs to the hub itself and to no mirror. */
export function belongsToHub(url: string): boolean {
  return new URL(url).origin === defaultHub;
}

/** The file of a repository that answered for a tag. */
export function taggedFile(source: Extract<ModelSource, { kind: "tag" }>, path: string, hub: string): ModelSource {
  const [name = ""] = source.fileNames;
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return { kind: "remote", url: `${hub}/${source.user}/${source.repo}/resolve/main/${encoded}`, fileName: name };
}

function hubSource(spec: string, rest: string, hub: string): ModelSource {
  const [user = "", repoAndTag = "", ...path] = rest.split("/");
  const [repo = "", tag = ""] = repoAndTag.split(":");
  if (![user, repo].every((part) => /^[\w.-]+$/.test(part) && !/^\.+$/.test(part))) throw badSpec(spec);
  if (path.length === 0) return tagSource(user, repo, tag.trim(), hub);
  const [file = "", branch = "main"] = path.join("/").split("#");
  const parts = file.split("/");
  if (!/\.gguf$/i.test(file) || parts.some((part) => /^\.*$/.test(part))) throw badSpec(spec);
  return {
    kind: "remote",
    url: `${hub}/${user}/${repo}/resolve/${encodeURIComponent(branch)}/${parts.map(encodeURIComponent).join("/")}`,
    fileName: hubFileName(user, repo, branch, parts),
  };
}

function tagSource(user: string, repo: string, tag: string, hub: string): ModelSource {
  const base = withoutGguf(repo);
  const prefix = `hf_${user}_${isNamedAfter(`${base}.gguf`, repo) ? "" : `${repo}_`}`;
  const quantised = (name: string) => `${prefix}${safeName(base)}${name === "" ? "" : `.${name}`}.gguf`;
  const names = tag === "" || tag === "latest" ? ["Q4_K_M", ""] : [tag.toUpperCase()];
  return {
    kind: "tag",
    manifestUrl: `${hub}/v2/${user}/${repo}/manifests/${encodeURIComponent(tag || "latest")}`,
    user,
    repo,
    tag,
    fileNames: names.map(quantised),
  };
}

function urlSource(spec: string, hub: string): ModelSource {
  const url = new URL(spec);
  const [user, repo, marker, branch, ...path] = url.pathname.slice(1).split("/").map(decodeURIComponent);
  const isHubFile =
    [defaultHub, new URL(hub).origin].includes(url.origin) && (marker === "resolve" || marker === "blob");
  if (isHubFile && path.length > 0) return hubSource(spec, `${user}/${repo}/${path.join("/")}#${branch}`, hub);
  const name = safeName(decodeURIComponent(basename(url.pathname)));
  if (!/\.gguf$/i.test(name)) throw badSpec(spec);
  // Two addresses may end in the same name.
  const digits = sha256(spec).slice(0, 8);
  return { kind: "remote", url: spec, fileName: `url_${safeName(url.hostname)}_${digits}_${name}` };
}

function hubFileName(user: string, repo: string, branch: string, path: string[]): string {
  const file = safeName(path.at(-1) ?? "");
  const prefix = ["hf", safeName(user)];
  if (!isNamedAfter(file, repo) || branch !== "main") prefix.push(safeName(repo));
  if (branch !== "main") prefix.push(safeName(branch));
  const folders = path.slice(0, -1);
  if (folders.at(-1)?.toLowerCase() === withoutSplit(file).toLowerCase()) folders.pop();
  if (folders.length > 0) prefix.push(safeName(folders.join("__")));
  return [...prefix, file].join("_");
}

/** `x-GGUF` holds files called `x….gguf`: then the repository's name is left out. */
function isNamedAfter(file: string, repo: string): boolean {
  return /-gguf$/i.test(repo) && withoutSplit(file).toLowerCase().startsWith(withoutGguf(repo).toLowerCase());
}

function withoutGguf(repo: string): string {
  return repo.replace(/-gguf$/i, "");
}

function withoutSplit(file: string): string {
  return file.replace(/(-\d{5}-of-\d{5})?\.gguf$/i, "");
}

/** A file name without what some file systems forbid. */
function safeName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const safe = name.normalize("NFD").replace(/[<>:"/\\|?*\u0000-\u001f\u0080-\u009f]+/g, "!");
  if (safe.length <= 100) return safe;
  const extension = /\.[^.]*$/.exec(safe)?.[0] ?? "";
  return safe.slice(0, 100 - extension.length) + extension;
}

function badSpec(spec: string): MemqError {
  return new MemqError("MODEL_SPEC", `${JSON.stringify(spec)} names no GGUF model.`, {
    hint: "Write hf:user/repository/file.gguf, an https address of a .gguf file, or a path.",
  });
}
