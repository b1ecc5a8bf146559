import { runningServer, serversIn, stopDaemon } from "../../gateway/mcp/daemon.ts";
import { notice, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { daemonFolders, daemonPlace } from "./mcp-home.ts";

/** `mcp stop`: ends the server that `mcp --http --daemon` started. */
export async function run(invocation: Invocation): Promise<void> {
  const { files } = await daemonPlace(invocation);
  const isRunning = runningServer(files) !== null;
  writeOut(`${await stopDaemon(files, invocation.program)}\n`);
  if (isRunning) return;
  for (const { pid, stopCommand } of serversIn(await daemonFolders(invocation))) {
    notice(
      `The server of another home runs (PID ${pid})${stopCommand === null ? "" : `; stop it with: ${stopCommand}`}`,
    );
  }
}
