import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { VERSION } from "../version.ts";
import { createFolder, privateTempFolder } from "./folders.ts";
import { nativeBuild } from "./native.ts";
import { protocolVersion } from "./protocol.ts";

/** Where a model host listens, and the files beside its socket. */
export type HostAddress = { socket: string; lock: string; log: string };

/** The kernel allows 104 bytes for a socket's path on macOS, 108 on Linux. */
const maxSocketPath = 100;

/**
 * One host per user, real path of the models folder and version of the executable: hosts of two versions never meet, and the
 * older one goes when it is idle. The name is a hash, since a socket's path is short.
 */
export function hostAddress(modelsFolder: string): HostAddress {
  const identity = JSON.stringify([
    process.getuid?.() ?? 0,
    realPath(resolve(modelsFolder)),
    VERSION,
    nativeBuild(),
    protocolVersion,
  ]);
  const name = `memq-${createHash("sha256").update(identity).digest("hex").slice(0, 16)}`;
  const base = socketFolder(name);
  return { socket: join(base, `${name}.sock`), lock: join(base, `${name}.lock`), log: join(base, `${name}.log`) };
}

function socketFolder(name: string): string {
  const runtime = process.env["XDG_RUNTIME_DIR"];
  if (
    runtime !== undefined &&
    isAbsolute(runtime) &&
    Buffer.byteLength(join(runtime, `${name}.sock`)) < maxSocketPath
  ) {
    try {
      return createFolder(runtime);
    } catch {
      // Set, but of another user (after su or sudo), or read-only: the temporary folder serves.
    }
  }
  return privateTempFolder();
}

/** The path without symbolic links, also of a folder that is not there yet: creating it must not change its host. */
function realPath(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realPath(parent), basename(folder));
  }
}
