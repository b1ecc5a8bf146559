#!/usr/bin/env bun
import { notice, writeOut } from "./output.ts";
import { versionLine } from "./version.ts";

const argv = process.argv.slice(2);
const program = /(^|[\\/])qmd(\.exe)?$/.test(process.argv0) ? "qmd" : "memq";

if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-v")) {
  // Asked for often and by impatient clients: answered without loading anything else.
  try {
    writeOut(`${versionLine(program)}\n`);
  } catch (error) {
    const { asMemqError } = await import("./errors.ts");
    notice(asMemqError(error).message);
    process.exit(1);
  }
} else if (argv[0] === "__model-host" && argv[1] !== undefined && argv[2] !== undefined) {
  const { runModelHost } = await import("./llama/host.ts");
  await runModelHost(argv[1], argv[2]);
} else {
  const [{ runCommandLine }, { setVecLoader }] = await Promise.all([
    import("./cli/run.ts"),
    import("./store/vec-extension.ts"),
  ]);
  // Loaded where vectors are asked for: a search by words needs nothing of it.
  setVecLoader(() => (require("./llama/native.ts") as typeof import("./llama/native.ts")).vecExtensionPath());
  // Everything is written by now; what a library still holds open must not keep the process.
  process.exit(await runCommandLine(argv, program));
}
