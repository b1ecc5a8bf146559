import { identityOf } from "../embed/identity.ts";
import { withModelSpec } from "../embed/spec.ts";
import type { Home } from "../home/types.ts";
import { servingIdentity } from "../store/identity.ts";
import type { Index, VectorIdentity } from "../store/types.ts";
import { hasVectors, missingVectorCounts } from "../store/vectors.ts";

/** What has no vector yet. */
export type Pending = { passages: number; documents: number };

/**
 * What a home has still to embed. Nothing is asked and no model is loaded; of a remote provider that can't be set up now, what
 * its vectors would be is not known, and those that serve count.
 */
export async function pendingEmbeddings(index: Index, home: Home, collections?: readonly string[]): Promise<Pending> {
  const settings = withModelSpec(home.embedding, home.kind);
  if (settings.provider === "none") return { passages: 0, documents: 0 };
  const identity = hasVectors(index) ? ((await wantedIdentity(home)) ?? servingIdentity(index)) : null;
  return missingVectorCounts(index, identity, collections);
}

/**
 * Why nothing can take over from the vectors that serve, which another provider or model made than the configured remote one: it can't
 * be set up now. Null where it can, or where they are its own.
 */
export async function obstacleToChange(index: Index, home: Home): Promise<string | null> {
  const { provider: id, model } = withModelSpec(home.embedding, home.kind);
  const serving = servingIdentity(index);
  if (serving === null || id === "none" || id === "auto" || id === "local") return null;
  if (serving.provider.toLowerCase() === id.toLowerCase() && (model === undefined || serving.model === model))
    return null;
  const { openProvider } = await import("../embed/registry.ts");
  const { provider, reason } = await openProvider(home.embedding, { kind: home.kind });
  await provider?.close();
  return provider === undefined ? (reason ?? null) : null;
}

/** The identity of the vectors that a home wants, or null when its provider can't be set up now. */
export async function wantedIdentity(home: Home): Promise<VectorIdentity | null> {
  const settings = withModelSpec(home.embedding, home.kind);
  if (settings.provider === "none") return null;
  if (settings.provider === "local") {
    const { localSpace } = await import("../embed/local.ts");
    return identityOf(localSpace(settings, home.kind), home.cutting);
  }
  const { openProvider } = await import("../embed/registry.ts");
  const { provider } = await openProvider(home.embedding, { kind: home.kind });
  if (provider === undefined) return null;
  const identity = identityOf(provider, home.cutting);
  await provider.close();
  return identity;
}
