// Builds the executable: bun run build [--target linux-x64|linux-arm64|darwin-arm64|darwin-x64] [--outfile FILE]
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import packageJson from "../package.json";
import { adHocSigned } from "./build/macho.ts";
import { embeddedModule } from "./build/native-parts.ts";
import { executablePlugin } from "./build/plugin.ts";
import { targetNamed } from "./build/targets.ts";

const root = resolve(import.meta.dir, "..");

const { values } = parseArgs({
  options: { target: { type: "string" }, outfile: { type: "string" } },
});
const target = targetNamed(values.target);
const own = targetNamed();
const outfile = resolve(values.outfile ?? join(root, "dist", target === own ? "memq" : `memq-${target.name}`));

const versions = {
  llama: packageJson.dependencies["node-llama-cpp"],
  vec: packageJson.dependencies["sqlite-vec"],
};
// The sync Worker is an entry of its own: a Worker starts from a file of the executable.
const entrypoints = ["src/main.ts", "src/sync/worker.ts"].map((path) => join(root, path)).filter(existsSync);
mkdirSync(dirname(outfile), { recursive: true });
// Written beside and renamed, so that a running executable is never overwritten.
const unfinished = `${outfile}.${process.pid}`;
const result = await Bun.build({
  entrypoints,
  root: join(root, "src"),
  target: "bun",
  format: "esm",
  minify: true,
  // Both halve the time to start: only what a command needs is read, and that is parsed already.
  splitting: true,
  bytecode: true,
  plugins: [executablePlugin(root, embeddedModule(root, target, versions))],
  compile: {
    target: target.bun,
    outfile: unfinished,
    autoloadDotenv: false,
    autoloadBunfig: false,
    // Most commands end before compiled code pays; what runs long says so (`expectMuchWork`). A quarter less for a cold search.
    jitPolicy: 100,
    // What a search uses lies together, so that less of the file is read (`build/record-order.ts`): a twentieth less.
    bytecodeOrder: join(root, "scripts/build/search.order"),
  },
  throw: false,
});
if (!result.success) {
  for (const { message, position } of result.logs) {
    console.error(position === null ? message : `${position.file}:${position.line}: ${message}`);
  }
  rmSync(unfinished, { force: true });
  process.exit(1);
}
if (target.os === "darwin") writeFileSync(unfinished, adHocSigned(readFileSync(unfinished), "memq"));
chmodSync(unfinished, 0o755);
renameSync(unfinished, outfile);
console.log(`${outfile} ${target.name} ${(statSync(outfile).size / 1e6).toFixed(1)} MB`);
