import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

export type EvalNote = { path: string; text: string };
export type EvalQuestion = { id: string; query: string; relevant: string[]; tag: string };

/** Notes that are searched together, with the questions asked of them. */
export type EvalGroup = { name: string; notes: EvalNote[]; questions: EvalQuestion[] };
export type EvalSet = { name: string; groups: EvalGroup[] };

/** Names of the sets in a folder: its folders that hold `docs.jsonl` and `queries.jsonl`. */
export function setNames(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => ["docs.jsonl", "queries.jsonl"].every((file) => existsSync(join(folder, name, file))))
    .sort();
}

/**
 * Reads a set. A question whose tag begins with a group (`c3/…`) is asked only of the notes below `memory/c3/`: they are
 * another person's memory than the rest, and get an index of their own.
 */
export function readSet(folder: string, name: string): EvalSet {
  const notes = readLines<EvalNote>(join(folder, name, "docs.jsonl"));
  const questions = readLines<EvalQuestion>(join(folder, name, "queries.jsonl"));
  const groups = new Map<string, EvalGroup>();
  for (const question of questions) {
    const group = question.tag.includes("/") ? question.tag.slice(0, question.tag.indexOf("/")) : "";
    const known = groups.get(group) ?? { name: group, notes: notesOf(notes, group), questions: [] };
    known.questions.push(question);
    groups.set(group, known);
  }
  return { name, groups: [...groups.values()] };
}

/** The set with at most `limit` notes a group: all that answer a question, then others, chosen by the hash of their path. */
export function sampled(set: EvalSet, limit: number): EvalSet {
  const groups = set.groups.map((group) => {
    if (group.notes.length <= limit) return group;
    const wanted = new Set(group.questions.flatMap(({ relevant }) => relevant));
    const rank = (note: EvalNote): bigint => (wanted.has(note.path) ? 0n : Bun.hash(note.path));
    const chosen = group.notes.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
    return { ...group, notes: chosen.slice(0, Math.max(limit, wanted.size)) };
  });
  return { ...set, groups };
}

function notesOf(notes: EvalNote[], group: string): EvalNote[] {
  return group === "" ? notes : notes.filter((note) => note.path.startsWith(`memory/${group}/`));
}

function readLines<T>(path: string): T[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}
