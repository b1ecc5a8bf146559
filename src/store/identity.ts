import { sha256 } from "../sha256.ts";
import { readMeta, writeMeta } from "./meta.ts";
import type { Index, VectorIdentity } from "./types.ts";

const SERVING = "vectors.serving";
const NEXT = "vectors.next";

/** Whether vectors of both lie in the same space. Of vectors that qmd wrote only model and fingerprint are known (`provider` ""). */
export function sameIdentity(a: VectorIdentity, b: VectorIdentity): boolean {
  if (a.model !== b.model || a.fingerprint !== b.fingerprint || ofOtherWeights(a, b)) return false;
  return a.provider === "" || b.provider === "" || identityFields(a) === identityFields(b);
}

function identityFields(identity: VectorIdentity): string {
  const { provider, endpoint, dimensions, documentInputType, promptForm, cutting } = identity;
  return JSON.stringify([provider, endpoint, dimensions, documentInputType, promptForm, cutting]);
}

/** Whether both are known to be of two model files, though these may have one name. */
export function ofOtherWeights(a: VectorIdentity, b: VectorIdentity): boolean {
  return a.weights !== undefined && b.weights !== undefined && a.weights !== b.weights;
}

/** Whether a text's vectors of both can be compared: how passages are cut does not matter to that. */
export function sameSpace(a: VectorIdentity, b: VectorIdentity): boolean {
  return !ofOtherWeights(a, b) && JSON.stringify(spaceFields(a)) === JSON.stringify(spaceFields(b));
}

/** Name of the part of the embedding cache that fits an identity: how passages are cut does not matter to a text's vector. */
export function cacheSpace(identity: VectorIdentity): string {
  const { weights } = identity;
  const parts = [...spaceFields(identity), ...(weights === undefined ? [] : [weights])];
  return sha256(JSON.stringify(parts)).slice(0, 16);
}

function spaceFields(identity: VectorIdentity): (string | number | null)[] {
  const { provider, model, endpoint, dimensions, documentInputType, promptForm } = identity;
  return [provider, model, endpoint, dimensions, documentInputType, promptForm];
}

function readIdentity(index: Index, key: string): VectorIdentity | null {
  const stored = readMeta(index, key);
  return stored === null ? null : (JSON.parse(stored) as VectorIdentity);
}

/**
 * The identity of the vectors that searches use, null when there are none. Where qmd wrote vectors under another model since,
 * only `model` and `fingerprint` are known, and `provider` is "".
 */
export function servingIdentity(index: Index): VectorIdentity | null {
  const stored = readIdentity(index, SERVING);
  const rows = index.db.query<{ model: string; fingerprint: string }, [string, string]>(
    `SELECT model, embed_fingerprint AS fingerprint FROM content_vectors WHERE model = ? AND embed_fingerprint = ? LIMIT 1`,
  );
  if (stored !== null && rows.get(stored.model, stored.fingerprint) !== null) return stored;
  const found = index.db
    .query<{ model: string; fingerprint: string }, []>(
      "SELECT model, embed_fingerprint AS fingerprint FROM content_vectors LIMIT 1",
    )
    .get();
  if (found === null) return null;
  return {
    ...found,
    provider: "",
    endpoint: "",
    dimensions: null,
    documentInputType: null,
    promptForm: "",
    cutting: "",
  };
}

/**
 * Those of these rows whose vectors are of the identity that serves. Others stand among them where qmd changed models and was
 * stopped half way: their cosines would mean nothing.
 */
export function ofServingIdentity<T extends { vectorKey: string }>(index: Index, rows: T[]): T[] {
  const serving = servingIdentity(index);
  if (serving === null || !hasOthers(index, serving)) return rows;
  const keys = index.db
    .query<{ key: string }, [string, string, string]>(
      `SELECT j.value AS key FROM json_each(?) j CROSS JOIN content_vectors c
       ON c.hash = substr(j.value, 1, instr(j.value, '_') - 1) AND c.seq = CAST(substr(j.value, instr(j.value, '_') + 1) AS INTEGER)
       WHERE c.model = ? AND c.embed_fingerprint = ?`,
    )
    .all(JSON.stringify(rows.map(({ vectorKey }) => vectorKey)), serving.model, serving.fingerprint);
  const own = new Set(keys.map(({ key }) => key));
  return rows.filter(({ vectorKey }) => own.has(vectorKey));
}

/**
 * Four look-ups in an index, whatever the number of vectors: two columns compared as a pair would have it walk through all vectors of
 * the model.
 */
function hasOthers(index: Index, { model, fingerprint }: VectorIdentity): boolean {
  const some = (condition: string): string => `EXISTS (SELECT 1 FROM content_vectors WHERE ${condition})`;
  const others = ["model < ?1", "model > ?1"].concat(
    ["<", ">"].map((side) => `model = ?1 AND embed_fingerprint ${side} ?2`),
  );
  const found = index.db
    .query<{ others: number }, [string, string]>(`SELECT ${others.map(some).join(" OR ")} AS others`)
    .get(model, fingerprint);
  return found?.others === 1;
}

/** The identity that a rebuild in progress leads to, or null. */
export function nextIdentity(index: Index): VectorIdentity | null {
  return readIdentity(index, NEXT);
}

/** Notes what is known by now of the vectors that searches use, and was not when they were made. */
export function completeServing(index: Index, identity: VectorIdentity): void {
  const serving = servingIdentity(index);
  if (serving === null || !sameIdentity(serving, identity) || serving.provider !== identity.provider) return;
  if (serving.weights === undefined && identity.weights !== undefined) writeServing(index, identity);
}

/** Sets the identity of the vectors that searches use; null: there are none. */
export function writeServing(index: Index, identity: VectorIdentity | null): void {
  writeMeta(index, SERVING, identity === null ? null : JSON.stringify(identity));
}

/** Sets the identity that a rebuild leads to; null: none is under way. */
export function writeNext(index: Index, identity: VectorIdentity | null): void {
  writeMeta(index, NEXT, identity === null ? null : JSON.stringify(identity));
}
