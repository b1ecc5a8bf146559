import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { sha256 } from "../sha256.ts";
import { VERSION } from "../version.ts";
import { createFolder, privateTempFolder, privateTempPath } from "./folders.ts";
import { programBuild } from "./native.ts";
import { protocolVersion } from "./protocol.ts";

/** Where a model host listens, and the files beside its socket. */
export type HostAddress = { socket: string; lock: string; log: string };

/** The kernel allows 104 bytes for a socket's path on macOS, 108 on Linux. */
const maxSocketPath = 100;

/**
 * One host per user, real path of the models folder, version and build of the executable: hosts of two builds never meet, and the
 * older one goes when it is idle. The name is a hash, since a socket's path is short.
 */
export function hostAddress(modelsFolder: string): HostAddress {
  const identity = JSON.stringify([
    process.getuid?.() ?? 0,
    realPathToBe(resolve(modelsFolder)),
    VERSION,
    programBuild(),
    protocolVersion,
  ]);
  const name = `memq-${sha256(identity).slice(0, 16)}`;
  const base = socketFolder(name);
  return { socket: join(base, `${name}.sock`), lock: join(base, `${name}.lock`), log: join(base, `${name}.log`) };
}

/** `$XDG_RUNTIME_DIR`, else a folder of ours in the temporary one, else in `/tmp`: the first where the socket's path fits. */
function socketFolder(name: string): string {
  const runtime = process.env["XDG_RUNTIME_DIR"];
  const fits = (folder: string) => Buffer.byteLength(join(folder, `${name}.sock`)) < maxSocketPath;
  if (runtime !== undefined && isAbsolute(runtime) && fits(runtime) && isOurs(runtime)) return runtime;
  const base = fits(privateTempPath(tmpdir())) ? tmpdir() : "/tmp";
  return privateTempFolder(base);
}

/** After `su` or `sudo` the variable may still name another user's folder, which must stay free of our files. */
function isOurs(folder: string): boolean {
  try {
    createFolder(folder);
    accessSync(folder, constants.W_OK);
    return statSync(folder).uid === process.getuid?.();
  } catch {
    return false;
  }
}

/** The path without symbolic links, also of a folder that is not there yet: creating it must not change its host. */
function realPathToBe(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realPathToBe(parent), basename(folder));
  }
}
