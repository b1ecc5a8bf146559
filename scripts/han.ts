#!/usr/bin/env bun
// Makes src/search/han/table.txt of OpenCC's table: traditional characters in one line, the simplified ones that stand for them in the next.
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(import.meta.resolve("opencc-js/dict/TSCharacters"));
const folder = resolve(import.meta.dir, "../src/search/han");
const [, table = ""] = /"([^"]+)"/.exec(readFileSync(source, "utf8")) ?? [];
// Characters beyond one UTF-16 unit are too rare to make the places in the two lines differ for.
const pairs = table.split("|").map((pair) => pair.split(" "));
const plain = pairs.filter(([from = "", to = ""]) => from.length === 1 && to.length === 1 && from !== to);
const lines = [0, 1].map((side) => plain.map((pair) => pair[side]).join(""));
writeFileSync(join(folder, "table.txt"), `${lines.join("\n")}\n`);
copyFileSync(join(dirname(source), "../../../LICENSES/Apache-2.0.txt"), join(folder, "licence.txt"));
