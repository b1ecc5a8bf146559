import type { OpenedProvider } from "../embed/registry.ts";
import type { AgentHome } from "../home/agent-home.ts";
import type { EmbeddingSettings } from "../home/types.ts";
import { understands } from "../search/vector.ts";
import { servingIdentity } from "../store/identity.ts";
import type { Index } from "../store/types.ts";
import { byDeadline } from "./deadline.ts";

/** A provider that could not be set up is tried again after this time. */
const RETRY_MS = 60_000;

export type ProviderOpener = {
  /** What embeds queries for this index; never later than the deadline, then without a provider and with the reason. */
  by(deadline: number, index: Index): Promise<OpenedProvider>;
  /** As `by`, but without a reason where nobody named a provider and none is at hand: then nothing about providers is even read. */
  forSearch(deadline: number, index: Index): Promise<OpenedProvider>;
  close(): Promise<void>;
};

/**
 * Opens the agent's embedding provider when first needed. Where the notes were embedded by the configured fallback, because the
 * named provider failed then, queries go to the fallback too: only vectors of one space can be compared.
 */
export function providerOpener({ home, env }: AgentHome): ProviderOpener {
  const { embedding } = home;
  const options = { kind: home.kind, env };
  let named: Promise<OpenedProvider> | null = null;
  let standIn: Promise<OpenedProvider> | null = null;
  let openedAt = 0;

  async function openNamed(): Promise<OpenedProvider> {
    const { openProvider } = await import("../embed/registry.ts");
    return openProvider(embedding, options);
  }

  async function openStandIn(): Promise<OpenedProvider> {
    const { openFallback } = await import("../embed/registry.ts");
    return openFallback(embedding, options, `${embedding.provider} could not embed the notes`);
  }

  async function openFor(index: Index): Promise<OpenedProvider> {
    const now = Date.now();
    if (named === null || ((await named).provider === undefined && now - openedAt > RETRY_MS)) {
      named = openNamed();
      openedAt = now;
    }
    const opened = await named;
    const mayStandIn = opened.provider !== undefined && opened.fallback === undefined && embedding.fallback !== "none";
    const serving = mayStandIn ? servingIdentity(index) : null;
    if (serving === null || opened.provider === undefined || understands(opened.provider, serving)) return opened;
    const second = await (standIn ??= openStandIn());
    return second.provider !== undefined && understands(second.provider, serving) ? second : opened;
  }

  function by(deadline: number, index: Index): Promise<OpenedProvider> {
    if (embedding.provider === "none") return Promise.resolve({ explicit: false });
    const late = { explicit: false, reason: "The embedding provider was not ready in time." };
    return byDeadline(openFor(index), deadline, late);
  }

  return {
    by,
    forSearch: (deadline, index) => (mayEmbed(embedding) ? by(deadline, index) : Promise.resolve({ explicit: false })),
    async close() {
      for (const opening of [named, standIn]) {
        const opened = await opening?.catch(() => null);
        await opened?.provider?.close();
      }
    },
  };
}

/** Whether a provider was named, or one that is chosen automatically could have what it needs. */
function mayEmbed({ explicit, provider, local, apiKey, credentials }: EmbeddingSettings): boolean {
  if (explicit || provider !== "auto" || local.modelPath !== undefined || apiKey !== undefined) return true;
  return Object.values(credentials).some((known) => known.apiKey !== undefined);
}
