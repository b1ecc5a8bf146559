import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { BunPlugin, PluginBuilder } from "bun";

/** Parts of node-llama-cpp that build from source, download or draw progress; the executable never gets there. */
const UNUSED = /^(cmake-js|simple-git|ora|stdout-update|yargs|validate-npm-package-name|ipull)(\/.*)?$/;
const UNUSED_EXPORTS = [
  "simpleGit",
  "downloadFile",
  "downloadSequence",
  "createMultiplexer",
  "UpdateManager",
  "BuildSystem",
  "DownloadEngineMultiDownload",
  "DownloadEngineFile",
  "DownloadStatus",
];

/**
 * Makes node-llama-cpp fit into one file: it looks for its own package.json and its native parts beside its source, which the
 * executable does not have. Native parts come from `globalThis.__memqNativeFolder` instead, and from nowhere else: as
 * published it also loads backends from the working directory, where anyone may have put them.
 */
export function executablePlugin(root: string, embeddedModule: string): BunPlugin {
  const llama = join(root, "node_modules/node-llama-cpp");
  const version = JSON.stringify(jsonField(join(llama, "package.json"), "version"));
  const release = JSON.stringify(jsonField(join(llama, "llama/binariesGithubRelease.json"), "release"));
  return {
    name: "executable",
    setup(build) {
      replaceModule(build, /src[\\/]llama[\\/]embedded\.ts$/, () => embeddedModule);
      virtualModule(build, /^@node-llama-cpp\//, "llama-binaries", () =>
        lines(
          `export const getBinsDir = () => ({ binsDir: globalThis.__memqNativeFolder, packageVersion: ${version} });`,
        ),
      );
      virtualModule(build, UNUSED, "unused", (path) =>
        lines(
          `const missing = () => { throw new Error(${JSON.stringify(`${path} is not part of this build`)}); };`,
          `export default missing;`,
          `export const ${UNUSED_EXPORTS.map((name) => `${name} = missing`).join(", ")};`,
        ),
      );
      // Argv is read by our own table and citty gets none of it: the parser it would load for that costs a quarter of the start.
      replaceModule(build, /citty[\\/]dist[\\/]index\.mjs$/, (path) =>
        replacedOnce(
          path,
          'import { parseArgs as parseArgs$1 } from "node:util";',
          "const parseArgs$1 = () => ({ values: {}, positionals: [] });",
        ),
      );
      const utils = String.raw`node-llama-cpp[\\/]dist[\\/](bindings[\\/])?utils[\\/]`;
      replaceModule(build, new RegExp(`${utils}binariesGithubRelease\\.js$`), () =>
        lines(
          `export const builtinLlamaCppRelease = ${release}, defaultLlamaCppRelease = builtinLlamaCppRelease;`,
          `export async function getBinariesGithubRelease() { return builtinLlamaCppRelease; }`,
          `export async function setBinariesGithubRelease() {}`,
        ),
      );
      replaceModule(build, new RegExp(`${utils}getModuleVersion\\.js$`), () =>
        lines(`export async function getModuleVersion() { return ${version}; }`),
      );
      replaceModule(build, new RegExp(`${utils}testBindingBinary\\.js$`), () =>
        lines(`export async function testBindingBinary() { return true; }`),
      );
      replaceModule(build, /node-llama-cpp[\\/]dist[\\/]bindings[\\/]Llama\.js$/, (path) =>
        replacedOnce(path, "bindings.loadBackends();", "bindings.loadBackends(path.dirname(bindingPath));"),
      );
    },
  };
}

function replaceModule(build: PluginBuilder, filter: RegExp, contents: (path: string) => string): void {
  build.onLoad({ filter }, ({ path }) => ({ loader: "js", contents: contents(path) }));
}

function virtualModule(
  build: PluginBuilder,
  filter: RegExp,
  namespace: string,
  contents: (path: string) => string,
): void {
  build.onResolve({ filter }, ({ path }) => ({ path, namespace }));
  build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({ loader: "js", contents: contents(path) }));
}

function replacedOnce(path: string, what: string, by: string): string {
  const source = readFileSync(path, "utf8");
  if (source.split(what).length !== 2) throw new Error(`${path}: expected ${what} once`);
  return source.replace(what, by);
}

function jsonField(path: string, field: string): string {
  const value = (JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>)[field];
  if (typeof value !== "string") throw new Error(`${path} has no ${field}`);
  return value;
}

function lines(...texts: string[]): string {
  return `${texts.join("\n")}\n`;
}
