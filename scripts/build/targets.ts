import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What the executable is built for, and which packages hold its native parts. */
export type Target = {
  name: string;
  bun: "bun-linux-x64" | "bun-linux-arm64" | "bun-darwin-arm64" | "bun-darwin-x64";
  os: "linux" | "darwin";
  cpu: "x64" | "arm64";
  /** Name of node-llama-cpp's build; its package is `@node-llama-cpp/<this>`. */
  llama: string;
  /** Package of sqlite-vec; null on macOS, whose SQLite loads no extensions. */
  vec: string | null;
};

export const targets: Target[] = [
  {
    name: "linux-x64",
    bun: "bun-linux-x64",
    os: "linux",
    cpu: "x64",
    llama: "linux-x64",
    vec: "sqlite-vec-linux-x64",
  },
  {
    name: "linux-arm64",
    bun: "bun-linux-arm64",
    os: "linux",
    cpu: "arm64",
    llama: "linux-arm64",
    vec: "sqlite-vec-linux-arm64",
  },
  { name: "darwin-arm64", bun: "bun-darwin-arm64", os: "darwin", cpu: "arm64", llama: "mac-arm64-metal", vec: null },
  { name: "darwin-x64", bun: "bun-darwin-x64", os: "darwin", cpu: "x64", llama: "mac-x64", vec: null },
];

/** The target with this name; this machine's when none is given. */
export function targetNamed(name = `${process.platform}-${process.arch}`): Target {
  const found = targets.find((target) => target.name === name);
  if (found === undefined)
    throw new Error(`no target ${name}; there are ${targets.map(({ name }) => name).join(", ")}`);
  return found;
}

/** Folder of an installed package that belongs to a target, fetched into `.cache/` when this machine's modules lack it. */
export function nativePackage(root: string, target: Target, name: string, version: string): string {
  const own = join(root, "node_modules", name);
  if (existsSync(join(own, "package.json"))) return own;
  const folder = join(root, ".cache/native", `${target.name}-${version}`);
  const fetched = join(folder, "node_modules", name);
  if (!existsSync(join(fetched, "package.json"))) fetchPackage(folder, target, `${name}@${version}`);
  return fetched;
}

function fetchPackage(folder: string, target: Target, specifier: string): void {
  console.error(`fetching ${specifier}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `{"private":true}\n`);
  const common = ["--ignore-scripts", "--no-save", `--os=${target.os}`, `--cpu=${target.cpu}`];
  // Whoever has only Bun has no npm. The package is named itself, so npm must be forced past its platform.
  const command =
    Bun.which("npm") === null
      ? [process.execPath, "add", ...common, specifier]
      : ["npm", "install", ...common, "--force", "--libc=glibc", "--no-audit", "--no-fund", specifier];
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd: folder, stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${specifier} could not be fetched: ${stderr.toString().trim()}`);
}
