// Measures the compiled executable; `vectors` alone runs from the sources.
// Every figure with a goal stands beside what it is measured against in the same run; a missed goal is printed as missed.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { benchModels } from "./bench/models.ts";
import { benchQmdHome } from "./bench/qmd-home.ts";
import { benchRecall } from "./bench/recall.ts";
import { benchResponsive } from "./bench/responsive.ts";
import { benchScale } from "./bench/scale.ts";
import { benchSessions } from "./bench/sessions.ts";
import { benchStart } from "./bench/start.ts";
import { type Figure, figureLine } from "./bench/timing.ts";
import { benchVectors } from "./bench/vectors.ts";
import { benchWarm } from "./bench/warm.ts";

const USAGE = `usage: bun scripts/bench.ts [--only start,qmd-home,models,recall,responsive,sessions,warm,scale,vectors] [--notes N] [--sizes N,N]
       [--vectors N] [--memq PATH] [--qmd PATH] [--rounds N] [--json FILE]
Measures dist/memq, each figure that has a goal beside what it is measured against. All parts take minutes; --only start a moment.`;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "15" },
    memq: { type: "string", default: resolve(import.meta.dir, "../dist/memq") },
    notes: { type: "string", default: "10000" },
    sizes: { type: "string", default: "1000,10000" },
    vectors: { type: "string", default: "100000" },
    qmd: { type: "string" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}
const memq = resolve(values.memq);
if (!existsSync(memq)) {
  process.stderr.write(`bench: ${memq} is missing. Run 'node_modules/.bin/bun run build' first.\n`);
  process.exit(1);
}
const rounds = Number(values.rounds);
const parts: Record<string, (folder: string) => Promise<Figure[]>> = {
  start: (folder) => benchStart(memq, folder, rounds),
  "qmd-home": (folder) =>
    benchQmdHome(memq, folder, {
      notes: Number(values.notes),
      rounds,
      ...(values.qmd === undefined ? {} : { qmd: resolve(values.qmd) }),
    }),
  models: (folder) => benchModels(memq, folder, Math.min(rounds, 7)),
  recall: (folder) => benchRecall(memq, folder),
  responsive: (folder) => benchResponsive(memq, folder),
  sessions: (folder) => benchSessions(memq, folder),
  warm: (folder) => benchWarm(memq, folder, Number(values.notes)),
  scale: (folder) => benchScale(memq, folder, values.sizes.split(",").map(Number)),
  vectors: (folder) => benchVectors(folder, Number(values.vectors)),
};
const wanted = values.only?.split(",") ?? Object.keys(parts);
const unknown = wanted.find((name) => !(name in parts));
if (unknown !== undefined) {
  process.stderr.write(`bench: no part is called '${unknown}'. Parts: ${Object.keys(parts).join(", ")}.\n`);
  process.exit(2);
}

const figures: Figure[] = [];
for (const name of wanted) {
  const folder = mkdtempSync(join(tmpdir(), `memq-bench-${name}-`));
  try {
    process.stdout.write(`\n${name}\n`);
    for (const figure of (await parts[name]?.(folder)) ?? []) {
      figures.push(figure);
      process.stdout.write(`${figureLine(figure)}\n`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
