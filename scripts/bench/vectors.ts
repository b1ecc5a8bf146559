import { join } from "node:path";
import { identityOf } from "../../src/embed/identity.ts";
import type { EmbeddingProvider } from "../../src/embed/types.ts";
import { resolveAgentHome } from "../../src/home/agent-home.ts";
import type { Home } from "../../src/home/types.ts";
import { search } from "../../src/search/search.ts";
import { nearestPassages } from "../../src/store/nearest.ts";
import { openIndex } from "../../src/store/open.ts";
import type { Index } from "../../src/store/types.ts";
import { loadVec } from "../../src/store/vec-extension.ts";
import { keepVectorCodes } from "../../src/store/vector-codes.ts";
import { nearestVec0 } from "../../src/store/vector-vec0.ts";
import { missingVectors, putVectors } from "../../src/store/vectors.ts";
import { syncIndex } from "../../src/sync/sync.ts";
import { seededCorpus, seededRandom, writeNotes } from "./corpus.ts";
import { type Figure, median, percentile } from "./timing.ts";

const DIMENSIONS = 768;
/** Texts are about so many subjects; a text's vector lies around that of its subject, as those of a model do. */
const SUBJECTS = 500;
const SPREAD = 1.2;
const QUERIES = 60;
const RESULTS = 10;

/**
 * Hybrid searches of a process that stays alive over `vectors` vectors, in turn with sqlite-vec's scan for the same vector. The
 * engine is called as `rpc` calls it; the provider answers at once, so embedding costs nothing.
 */
export async function benchVectors(folder: string, vectors: number): Promise<Figure[]> {
  const workspace = join(folder, "workspace");
  const corpus = seededCorpus(17);
  // Fine passages, so that many vectors need no more notes than a large home has.
  writeNotes(corpus, workspace, Math.ceil(vectors / 30));
  const cwd = folder;
  const resolved = await resolveAgentHome({
    workspace,
    stateDir: join(folder, "state"),
    config: {},
    env: { HOME: folder },
    cwd,
  });
  const home: Home = { ...resolved.home, cutting: { kind: "lines", maxWeight: 160, overlapWeight: 0 } };
  await syncIndex(home, { embed: false });
  const provider = seededProvider();
  const writer = openIndex(home.indexPath, { mode: "write" });
  const stored = fill(writer, home, provider, vectors);
  writer.close();

  const living = openIndex(home.indexPath, { mode: "read" });
  const started = Bun.nanoseconds();
  await keepVectorCodes(living).warm();
  const warmMs = (Bun.nanoseconds() - started) / 1e6;
  const exact = openIndex(home.indexPath, { mode: "read" });
  if (loadVec(exact) !== "vec0") throw new Error("sqlite-vec can't be loaded, so there is nothing to measure against");
  const collections = home.collections.map(({ name }) => name);
  const ours: number[] = [];
  const theirs: number[] = [];
  let recalled = 0;
  for (let n = -10; n < QUERIES; n++) {
    const query = `${corpus.word(2_000 + Math.abs(n) * 13)} ${corpus.word(1_500 + Math.abs(n) * 7)}`;
    const vector = vectorOf(query);
    const begin = Bun.nanoseconds();
    nearestVec0(exact, vector, RESULTS);
    const between = Bun.nanoseconds();
    const now = Date.now();
    await search(
      { home, index: living, provider },
      { query, profile: home.search, limit: RESULTS, collections, asOf: now, deadline: now + 15_000 },
    );
    const end = Bun.nanoseconds();
    if (n < 0) continue;
    theirs.push((between - begin) / 1e6);
    ours.push((end - between) / 1e6);
    const scope = { collections, limit: RESULTS };
    const nearest = new Set(nearestPassages(exact, vector, scope).map(({ passageId }) => passageId));
    recalled += nearestPassages(living, vector, scope).filter(({ passageId }) => nearest.has(passageId)).length;
  }
  living.close();
  exact.close();
  const base = median(theirs);
  return [
    { what: `codes of ${stored} vectors of ${DIMENSIONS} numbers made`, value: warmMs, unit: "ms" },
    {
      what: `hybrid search over ${stored} vectors, p50`,
      value: median(ours),
      unit: "ms",
      against: { name: `sqlite-vec (${base.toFixed(0)} ms)`, ratio: median(ours) / base },
      goal: { kind: "ratio", max: 1 / 8 },
    },
    { what: `hybrid search over ${stored} vectors, p99`, value: percentile(ours, 0.99), unit: "ms" },
    { what: `recall@${RESULTS} of the vector leg`, value: recalled / (QUERIES * RESULTS), unit: "" },
  ];
}

function fill(index: Index, home: Home, provider: EmbeddingProvider, limit: number): number {
  const identity = identityOf(provider, home.cutting);
  const missing = missingVectors(index, identity).slice(0, limit);
  for (let from = 0; from < missing.length; from += 1_000) {
    const batch = missing.slice(from, from + 1_000);
    putVectors(
      index,
      identity,
      batch.map(({ vectorKey, textHash }) => ({ vectorKey, textHash, vector: vectorOf(textHash) })),
    );
  }
  return missing.length;
}

const centres = new Map<number, Float32Array>();

/** The same text has the same vector always. */
function vectorOf(text: string): Float32Array {
  const seed = Number(Bun.hash(text) % 4_294_967_296n);
  const subject = seed % SUBJECTS;
  let centre = centres.get(subject);
  if (centre === undefined) centres.set(subject, (centre = randomVector(subject)));
  return randomVector(seed).map((value, at) => (centre[at] ?? 0) + SPREAD * value);
}

function randomVector(seed: number): Float32Array {
  const random = seededRandom(seed);
  return Float32Array.from({ length: DIMENSIONS }, () => random() + random() + random() - 1.5);
}

function seededProvider(): EmbeddingProvider {
  return {
    id: "bench",
    local: true,
    model: "seeded",
    endpoint: "",
    dimensions: null,
    documentInputType: null,
    promptForm: "",
    fingerprint: "000000",
    maxInputBytes: 8_000,
    media: false,
    embedQuery: (text) => Promise.resolve(vectorOf(text)),
    embedDocuments: (inputs) => Promise.resolve(inputs.map(({ text }) => vectorOf(text))),
    close: () => Promise.resolve(),
  };
}
