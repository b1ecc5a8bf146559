import type { EmbeddingSettings } from "../home/types.ts";
import type { ExchangeContext } from "./exchange.ts";
import type { Protocol } from "./protocol.ts";

/** What a provider's module gets besides the settings. */
export type ProviderContext = ExchangeContext & {
  kind: "agent" | "qmd";
  /** The configured id: the provider's own, or that of a custom `models.providers` entry. */
  id: string;
};

/** Makes a provider's protocol out of settings. Throws `EmbedError` when a key, an address or a model is missing. */
export type MakeProtocol = (settings: EmbeddingSettings, context: ProviderContext) => Protocol | Promise<Protocol>;
