import { stopDaemon } from "../../gateway/mcp/daemon.ts";
import { writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { daemonPlace } from "./mcp-home.ts";

/** `mcp stop`: ends the server that `mcp --http --daemon` started. */
export async function run(invocation: Invocation): Promise<void> {
  const { files } = await daemonPlace(invocation);
  writeOut(`${await stopDaemon(files, invocation.program)}\n`);
}
