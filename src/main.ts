#!/usr/bin/env bun
export {};
if (process.argv[2] === "__model-host" && process.argv[3] !== undefined) {
  const { runModelHost } = await import("./llama/host.ts");
  await runModelHost(process.argv[3]);
}
process.stderr.write("memq: nothing here yet\n");
process.exitCode = 1;
