import type { CoolingProvider } from "../embed/cooldown.ts";
import type { OpenedProvider, OpenOptions } from "../embed/registry.ts";
import type { AgentHome } from "../home/agent-home.ts";
import type { EmbeddingProvider } from "../embed/types.ts";
import type { EmbeddingSettings } from "../home/types.ts";
import { understands } from "../search/vector.ts";
import { servingIdentity } from "../store/identity.ts";
import { readFallbackReason } from "../store/meta.ts";
import type { Index, VectorIdentity } from "../store/types.ts";
import { byDeadline } from "./deadline.ts";

/** A provider that could not be set up is tried again after this time. */
const RETRY_MS = 60_000;

/** What embeds queries. Where the vectors that serve are another's than what is configured: that, or why it can't be set up. */
export type QueryEmbedding = OpenedProvider & { configured?: EmbeddingProvider | { reason: string } };

export type ProviderOpener = {
  /** What embeds queries for this index; never later than the deadline, then without a provider and with the reason. */
  by(deadline: number, index: Index): Promise<QueryEmbedding>;
  /** A provider that failed may be asked again at once. */
  recovered(): void;
  /** As `by`, but without a reason where nobody named a provider and none is at hand: then nothing about providers is even read. */
  forSearch(deadline: number, index: Index): Promise<OpenedProvider>;
  close(): Promise<void>;
};

type Opened = OpenedProvider & { provider?: CoolingProvider };
type Open = (registry: typeof import("../embed/registry.ts")) => Promise<OpenedProvider>;

/** The providers that were asked for so far. */
type Asked = {
  embedding: EmbeddingSettings;
  options: OpenOptions;
  named: Promise<Opened> | null;
  /** When the named one was, in milliseconds since 1970. */
  openedAt: number;
  /** What stands in for the named one, by name. */
  others: Map<string, Promise<Opened>>;
  cooling: Set<CoolingProvider>;
};

/**
 * Opens the agent's embedding provider when first needed. Only vectors of one space can be compared, so queries go to whoever made
 * the vectors that serve: the configured fallback where the named provider failed then, the model before a change of models until
 * the vectors of the new one are complete.
 */
export function providerOpener({ home, env }: AgentHome): ProviderOpener {
  const { embedding, kind } = home;
  const asked: Asked = {
    embedding,
    options: { kind, env },
    named: null,
    openedAt: 0,
    others: new Map(),
    cooling: new Set(),
  };

  function by(deadline: number, index: Index): Promise<QueryEmbedding> {
    if (embedding.provider === "none") return Promise.resolve({ explicit: false });
    const late = { explicit: false, reason: "The embedding provider was not ready in time." };
    return byDeadline(openFor(asked, index), deadline, late);
  }

  return {
    by,
    forSearch: (deadline, index) => (mayEmbed(embedding) ? by(deadline, index) : Promise.resolve({ explicit: false })),
    recovered() {
      for (const provider of asked.cooling) provider.recovered();
    },
    async close() {
      for (const opening of [asked.named, ...asked.others.values()]) {
        const { provider } = (await opening?.catch(() => null)) ?? {};
        await provider?.close();
      }
    },
  };
}

async function openFor(asked: Asked, index: Index): Promise<QueryEmbedding> {
  const { embedding, options } = asked;
  const first = await namedProvider(asked);
  const serving = servingIdentity(index);
  if (serving === null || (first.provider !== undefined && understands(first.provider, serving))) return first;
  if (first.provider !== undefined && first.fallback === undefined && embedding.fallback !== "none") {
    const reason = readFallbackReason(index) ?? `${embedding.provider} could not embed the notes`;
    const standIn = await other(asked, "fallback", serving, ({ openFallback }) =>
      openFallback(embedding, options, reason),
    );
    if (standIn !== null) return standIn;
  }
  // A provider that was named and can't be set up stays visible, whatever could stand in for it.
  if (first.provider === undefined && first.explicit) return first;
  const before = settingsBefore(embedding, first.provider?.id ?? embedding.provider, serving);
  const changed = first.provider === undefined ? first : { ...first, configured: first.provider };
  if (before === null) return changed;
  const former = await other(asked, JSON.stringify(serving), serving, ({ openProvider }) =>
    openProvider(before, options),
  );
  if (former?.provider === undefined) return changed;
  // The configured model is another one: when the former is gone, keywords answer.
  return {
    ...former,
    ...configuredOf(asked, first),
    explicit: first.explicit,
    provider: { ...former.provider, local: true },
  };
}

/** What is to take over, or why it can't. That automatic selection found nothing is no fault. */
function configuredOf({ embedding }: Asked, { provider, reason }: Opened): Pick<QueryEmbedding, "configured"> {
  if (provider !== undefined) return { configured: provider };
  return embedding.provider === "auto" || reason === undefined ? {} : { configured: { reason } };
}

async function namedProvider(asked: Asked): Promise<Opened> {
  const { embedding, options } = asked;
  const now = Date.now();
  if (
    asked.named === null ||
    ((await asked.named).provider === undefined && Math.abs(now - asked.openedAt) > RETRY_MS)
  ) {
    asked.named = opened(asked, ({ openProvider }) => openProvider(embedding, options));
    asked.openedAt = now;
  }
  return asked.named;
}

/** One that understands the vectors that serve, or null. */
async function other(asked: Asked, name: string, serving: VectorIdentity, open: Open): Promise<Opened | null> {
  const opening = asked.others.get(name) ?? opened(asked, open);
  asked.others.set(name, opening);
  const { provider, ...rest } = await opening;
  return provider !== undefined && understands(provider, serving) ? { ...rest, provider } : null;
}

async function opened({ cooling }: Asked, open: Open): Promise<Opened> {
  const { provider, ...rest } = await open(await import("../embed/registry.ts"));
  if (provider === undefined) return rest;
  const { withCooldown } = await import("../embed/cooldown.ts");
  const cooled = withCooldown(provider);
  cooling.add(cooled);
  return { ...rest, provider: cooled };
}

/**
 * The settings under which the vectors that serve were made, where only the model or its form has changed since: another provider's
 * key and address are no longer configured. A local model needs neither.
 */
function settingsBefore(
  embedding: EmbeddingSettings,
  configured: string,
  serving: VectorIdentity,
): EmbeddingSettings | null {
  const { provider, model, dimensions, documentInputType } = serving;
  if (provider === "local")
    return { ...embedding, provider, explicit: false, local: { ...embedding.local, modelPath: model } };
  if (provider === "" || provider !== configured.toLowerCase()) return null;
  return {
    ...embedding,
    provider,
    model,
    fallback: "none",
    outputDimensionality: dimensions ?? undefined,
    documentInputType: documentInputType ?? embedding.documentInputType,
  };
}

/** Whether a provider was named, or one that is chosen automatically could have what it needs. */
function mayEmbed({ explicit, provider, local, apiKey, credentials }: EmbeddingSettings): boolean {
  if (explicit || provider !== "auto" || local.modelPath !== undefined || apiKey !== undefined) return true;
  return Object.values(credentials).some((known) => known.apiKey !== undefined);
}
