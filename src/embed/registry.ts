import { statSync } from "node:fs";
import { homedir } from "node:os";
import { nearestName } from "../edit-distance.ts";
import type { EmbeddingSettings } from "../home/types.ts";
import type { JobStore } from "./batch-jobs/types.ts";
import { systemClock, type Clock } from "./clock.ts";
import { credentialsOf, isMissingKey } from "./connection.ts";
import { EmbedError, embedErrorOf } from "./errors.ts";
import { httpContext, type Fetch } from "./http.ts";
import type { MakeProtocol } from "./provider-context.ts";
import { createRemoteProvider } from "./remote.ts";
import { documentPatience, queryPatience, type Patience } from "./send.ts";
import { AUTOMATIC_PROVIDERS, type RemoteProvider, withModelSpec } from "./spec.ts";
import type { EmbeddingProvider } from "./types.ts";

export type OpenOptions = {
  kind: "agent" | "qmd";
  fetch?: Fetch;
  env?: Readonly<Record<string, string | undefined>>;
  clock?: Clock;
  patience?: { query: Patience; document: Patience };
  /** Where submitted batch jobs are kept across restarts. */
  jobStore?: JobStore;
  /** Whether a call waits for its batch jobs where the settings say so; else it ends in `EMBED_PENDING`. On unless false. */
  awaitsJobs?: boolean;
};

export type OpenedProvider = {
  /** Absent: keywords only. */
  provider?: EmbeddingProvider;
  /** Why there is none, in words; absent when none was wanted. */
  reason?: string;
  /** Set when the named provider could not be set up and `fallback` stands in. */
  fallback?: { from: string; reason: string };
  /** Whether a failure of the provider makes searches unavailable: it was named and it is remote. */
  explicit: boolean;
};

/** One module per provider, read only when it is used. */
const PROVIDERS = new Map<string, () => Promise<{ makeProtocol: MakeProtocol }>>(
  Object.entries({
    openai: () => import("./openai.ts"),
    "openai-compatible": () => import("./openai-compatible.ts"),
    gemini: () => import("./gemini.ts"),
    voyage: () => import("./voyage.ts"),
    mistral: () => import("./mistral.ts"),
    deepinfra: () => import("./deepinfra.ts"),
    "github-copilot": () => import("./github-copilot.ts"),
    bedrock: () => import("./bedrock.ts"),
    ollama: () => import("./ollama.ts"),
    lmstudio: () => import("./lmstudio.ts"),
  } satisfies Record<RemoteProvider, () => Promise<{ makeProtocol: MakeProtocol }>>),
);

/** Which of them serves a custom `models.providers` entry, by the entry's `api`. */
const ADAPTERS = new Map([
  ["openai-completions", "openai-compatible"],
  ["openai-responses", "openai-compatible"],
  ["google-generative-ai", "gemini"],
  ["bedrock-converse-stream", "bedrock"],
]);

/**
 * The provider that settings ask for. Unset or `auto`: a local model file that exists, then the first of openai, gemini, voyage
 * and mistral that has a key, else keywords only. A named one that can't be set up gives way to `fallback`. Never throws for
 * configuration: the reason is in the result.
 */
export async function openProvider(configured: EmbeddingSettings, options: OpenOptions): Promise<OpenedProvider> {
  const settings = withModelSpec(configured, options.kind);
  const id = settings.provider.trim().toLowerCase() || "auto";
  if (id === "none") return { explicit: false };
  if (id === "auto") return openAutomatic(settings, options);
  const explicit = settings.explicit && id !== "local";
  try {
    // Known ids are written in lower case, those of models.providers as they are.
    const named = PROVIDERS.has(id) || id === "local" ? id : settings.provider.trim();
    return { provider: await openNamed(named, settings, options), explicit };
  } catch (error) {
    return openFallback(settings, options, embedErrorOf(error).message);
  }
}

/**
 * The configured fallback in place of the named provider, which failed for `reason`, at set-up or later. It runs with its own
 * default model, and with nothing that was meant for the other provider.
 */
export async function openFallback(
  configured: EmbeddingSettings,
  options: OpenOptions,
  reason: string,
): Promise<OpenedProvider> {
  const settings = withModelSpec(configured, options.kind);
  const { provider: from, fallback } = settings;
  const explicit = settings.explicit && from !== "auto" && from !== "local";
  if (fallback === "none" || fallback === "" || fallback === from) return { reason, explicit };
  if (settings.multimodal) {
    const advice = 'Memory of pictures and sounds has no fallback; set fallback to "none".';
    return { reason: `${reason}\n\n${advice}`, explicit };
  }
  try {
    const provider = await openNamed(fallback, { ...settings, ...BLANK, provider: fallback, headers: {} }, options);
    return { provider, fallback: { from, reason }, explicit: explicit && !provider.local };
  } catch (error) {
    const second = embedErrorOf(error).message;
    return { reason: `${reason}\n\nFallback to ${fallback} failed: ${second}`, explicit };
  }
}

const BLANK = {
  model: undefined,
  outputDimensionality: undefined,
  queryInputType: undefined,
  documentInputType: undefined,
  baseUrl: undefined,
  apiKey: undefined,
};

async function openAutomatic(settings: EmbeddingSettings, options: OpenOptions): Promise<OpenedProvider> {
  const reasons: string[] = [];
  const candidates = isFile(settings.local.modelPath) ? ["local", ...AUTOMATIC_PROVIDERS] : AUTOMATIC_PROVIDERS;
  for (const id of candidates) {
    try {
      return { provider: await openNamed(id, settings, options), explicit: false };
    } catch (error) {
      reasons.push(embedErrorOf(error).message);
      if (!isMissingKey(error) && id !== "local") break;
    }
  }
  return { reason: reasons.join("\n\n"), explicit: false };
}

async function openNamed(id: string, settings: EmbeddingSettings, options: OpenOptions): Promise<EmbeddingProvider> {
  if (id === "local") {
    if (settings.multimodal) throw noMedia();
    const { openLocalProvider } = await import("./local.ts");
    return openLocalProvider(settings, options.kind);
  }
  const load = PROVIDERS.get(id) ?? PROVIDERS.get(adapterOf(id, settings));
  if (load === undefined) throw unknownProvider(id);
  const { fetch, clock = systemClock } = options;
  const env = options.env ?? { ...process.env, ...settings.env };
  const http = httpContext({ fetch, env });
  const context = { http, clock, kind: options.kind, id };
  const { makeProtocol } = await load();
  const protocol = await makeProtocol(settings, context);
  if (settings.multimodal && !protocol.media) throw noMedia();
  const patience = options.patience ?? {
    query: queryPatience(protocol.slow),
    document: documentPatience(protocol.slow, settings.batchTimeoutMs),
  };
  return createRemoteProvider(protocol, {
    context,
    patience,
    concurrency: settings.concurrency,
    batch: settings.batch,
    jobStore: options.jobStore,
    awaitsJobs: options.awaitsJobs,
  });
}

function noMedia(): EmbedError {
  return new EmbedError(
    "fatal",
    'agents.*.memorySearch.multimodal requires memorySearch.provider = "gemini" and model = "gemini-embedding-2-preview".',
  );
}

function adapterOf(id: string, settings: EmbeddingSettings): string {
  const { api, baseUrl } = credentialsOf(settings, [id]);
  if (api !== undefined) return ADAPTERS.get(api) ?? api;
  return baseUrl === undefined ? "" : "openai-compatible";
}

function unknownProvider(id: string): EmbedError {
  const known = ["local", ...PROVIDERS.keys(), "none"];
  const near = nearestName(id, known);
  return new EmbedError(
    "fatal",
    `Unknown embedding provider "${id}"${near === undefined ? "." : `: did you mean ${near}?`}`,
    {
      hint: `Known are ${known.join(", ")}, and entries of models.providers.`,
    },
  );
}

/** Whether `path` is a file on this disk and not an address or a model to be downloaded. */
function isFile(path: string | undefined): boolean {
  if (!path || /^(hf|https?):/i.test(path)) return false;
  const full = path.replace(/^file:(\/\/)?/, "").replace(/^~(?=\/)/, homedir());
  return statSync(full, { throwIfNoEntry: false })?.isFile() ?? false;
}
