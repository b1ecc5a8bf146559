import { readFileSync } from "node:fs";
import { MEASURES } from "./measures.ts";
import type { Result } from "./run.ts";

/** Least values (for `empty` the greatest) by `set` and `stage`: `{"scifact": {"keyword": {"ndcg10": 0.7}}}`. */
export type Floors = Record<string, Record<string, Partial<Record<(typeof MEASURES)[number], number>>>>;

/** The floors in a JSON file. */
export function readFloors(path: string): Floors {
  return JSON.parse(readFileSync(path, "utf8")) as Floors;
}

/** A sentence for each figure that is under its floor (`empty`: over it); floors of what was not measured are passed over. */
export function failures(results: readonly Result[], floors: Floors, sets: readonly string[]): string[] {
  const sentences: string[] = [];
  for (const [set, stages] of Object.entries(floors)) {
    if (!sets.includes(set)) continue;
    for (const [stage, figures] of Object.entries(stages)) {
      const result = results.find((candidate) => candidate.set === set && candidate.stage === stage);
      if (result === undefined) continue;
      for (const name of MEASURES) {
        const floor = figures[name];
        if (floor === undefined) continue;
        const value = result.measures[name];
        const held = name === "empty" ? value <= floor : value >= floor;
        if (!held) sentences.push(`${set}, ${stage}: ${name} is ${value.toFixed(4)}, recorded ${floor}`);
      }
    }
  }
  return sentences;
}
