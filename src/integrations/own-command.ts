import { join } from "node:path";
import { realPath } from "../home/paths.ts";
import { embedded } from "../llama/embedded.ts";

/**
 * How another program starts this one: the name on the PATH where that is this executable (it stays right after an update),
 * else the executable's path; from source, the runtime and the entry point.
 */
export function ownCommand(env: NodeJS.ProcessEnv): [string, ...string[]] {
  if (embedded === null) return [process.execPath, join(import.meta.dir, "../main.ts")];
  const found = Bun.which("memq", { PATH: env["PATH"] ?? "" });
  return [found !== null && realPath(found) === realPath(process.execPath) ? found : process.execPath];
}
