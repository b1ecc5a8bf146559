import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddedArchive } from "../../src/llama/embedded.ts";
import { nativePackage, type Target } from "./targets.ts";

export type NativeVersions = { llama: string; vec: string };

/** Packs a target's native parts below `.cache/build` and returns the source of the module that embeds them. */
export function embeddedModule(root: string, target: Target, versions: NativeVersions): string {
  const output = join(root, ".cache/build", target.name);
  mkdirSync(output, { recursive: true });
  // node-llama-cpp wants a folder named after the platform inside the one that it is given.
  const bins = join(nativePackage(root, target, `@node-llama-cpp/${target.llama}`, versions.llama), "bins");
  const names = fileNames(join(bins, target.llama)).map((name) => `${target.llama}/${name}`);
  const llama = packedArchive(bins, names, join(output, "llama"));
  const vec =
    target.vec === null
      ? null
      : packedArchive(nativePackage(root, target, target.vec, versions.vec), ["vec0.so"], join(output, "vec"));
  const archives = { llama, vec };
  const imports = Object.entries(archives).flatMap(([name, archive]) =>
    archive === null ? [] : [`import ${name}Path from ${JSON.stringify(archive.path)} with { type: "file" };`],
  );
  const fields = Object.entries(archives).map(([name, archive]) =>
    archive === null
      ? `${name}: null`
      : `${name}: { path: ${name}Path, hash: ${JSON.stringify(archive.hash)}, files: ${JSON.stringify(archive.files)} }`,
  );
  fields.push(`build: ${JSON.stringify(sourceHash(root))}`);
  return `${imports.join("\n")}\nexport const embedded = { ${fields.join(", ")} };\n`;
}

/** Hex digits that stand for the program's source and the versions of its packages. */
function sourceHash(root: string): string {
  const hasher = new Bun.CryptoHasher("sha256").update(readFileSync(join(root, "package-lock.json")));
  const names = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).sort();
  for (const name of names) {
    const path = join(root, "src", name);
    if (statSync(path).isFile()) hasher.update(`\0${name}\0`).update(readFileSync(path));
  }
  return hasher.digest("hex").slice(0, 16);
}

function fileNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
}

/** Writes the archive of some files of a folder; compressing takes seconds, so an archive of the same content is kept. */
function packedArchive(folder: string, names: string[], path: string): EmbeddedArchive {
  const contents = names.map((name) => readFileSync(join(folder, name)));
  const files = names.map((name, index) => ({ name, size: contents[index]?.length ?? 0 }));
  const hasher = new Bun.CryptoHasher("sha256").update(JSON.stringify(files));
  for (const content of contents) hasher.update(content);
  const hash = hasher.digest("hex").slice(0, 16);
  const archive = `${path}-${hash}.zst`;
  if (!existsSync(archive)) writeFileSync(archive, Bun.zstdCompressSync(Buffer.concat(contents), { level: 19 }));
  return { path: archive, hash, files };
}
