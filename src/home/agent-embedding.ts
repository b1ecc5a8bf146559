import { AUTOMATIC_PROVIDERS, DEFAULT_AGENT_MODEL } from "../embed/spec.ts";
import { messageOf } from "../errors.ts";
import { isObject } from "../json.ts";
import { credentialsOf, readAuthStore, type AuthStore } from "./credentials.ts";
import type { KeyReader } from "./key-reader.ts";
import type { LoadedConfig } from "./openclaw-config.ts";
import { absolutePath, envText } from "./paths.ts";
import { secretOf } from "./secrets.ts";
import type { EmbeddingSettings, ProviderCredentials } from "./types.ts";

export type EmbeddingPlace = {
  workspace: string;
  /** Path of the agent's `auth-profiles.json`. */
  authStore: string;
  /** Whether keys are looked up at all; commands that embed nothing need none. */
  withKeys: boolean;
};

/**
 * Where an agent's embeddings come from. Keys are looked up only for the provider, its fallback and, when none is named,
 * those tried in turn until one has a key. What can't be looked up becomes a `problem` and an issue.
 */
export async function agentEmbedding(
  keys: KeyReader,
  loaded: LoadedConfig,
  place: EmbeddingPlace,
  issues: string[],
): Promise<EmbeddingSettings> {
  const provider = keys.text("provider").toLowerCase() === "auto" ? "auto" : keys.text("provider");
  const fallback = keys.text("fallback");
  const settings: EmbeddingSettings = {
    provider,
    explicit: provider !== "auto",
    ...optionalTexts(keys),
    fallback,
    headers: stringsOf(keys.object("remote.headers")),
    authStore: place.authStore,
    credentials: {},
    local: localSettings(keys, loaded, place, [provider, fallback].includes("local")),
    batch: {
      enabled: keys.flag("remote.batch.enabled"),
      wait: keys.flag("remote.batch.wait"),
      concurrency: keys.number("remote.batch.concurrency"),
      pollIntervalMs: keys.number("remote.batch.pollIntervalMs"),
      timeoutMinutes: keys.number("remote.batch.timeoutMinutes"),
    },
    ...optionalNumbers(keys),
    cache: { enabled: keys.flag("cache.enabled"), maxEntries: keys.number("cache.maxEntries") },
    onFailure: keys.text("query.onProviderFailure") as EmbeddingSettings["onFailure"],
    multimodal: keys.flag("multimodal.enabled"),
  };
  if (settings.multimodal && fallback !== "none") {
    issues.push('multimodal does not support fallback, which is left out: set fallback to "none".');
  }
  if (place.withKeys && provider !== "none") await addKeys(settings, keys, loaded, issues);
  return settings;
}

function optionalTexts(keys: KeyReader): Partial<EmbeddingSettings> {
  const both = keys.optionalText("inputType");
  const query = keys.optionalText("queryInputType") ?? both;
  const document = keys.optionalText("documentInputType") ?? both;
  const model = keys.optionalText("model");
  const baseUrl = keys.optionalText("remote.baseUrl");
  return {
    ...(model === undefined ? {} : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(query === undefined ? {} : { queryInputType: query }),
    ...(document === undefined ? {} : { documentInputType: document }),
  };
}

function optionalNumbers(keys: KeyReader): Partial<EmbeddingSettings> {
  const dimensions = keys.optionalNumber("outputDimensionality");
  const concurrency = keys.optionalNumber("remote.nonBatchConcurrency");
  const timeout = keys.optionalNumber("sync.embeddingBatchTimeoutSeconds");
  return {
    ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(timeout === undefined ? {} : { batchTimeoutMs: timeout * 1000 }),
  };
}

function stringsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );
}

/** A path of a model stays a URI where it is one; a file is resolved below the workspace. */
function localSettings(
  keys: KeyReader,
  loaded: LoadedConfig,
  place: EmbeddingPlace,
  needsModel: boolean,
): EmbeddingSettings["local"] {
  const model = keys.optionalText("local.modelPath") ?? (needsModel ? DEFAULT_AGENT_MODEL : undefined);
  const cacheDir = keys.optionalText("local.modelCacheDir");
  const contextSize = keys.value("local.contextSize");
  const threads = keys.optionalNumber("local.threads");
  const isUri = model !== undefined && /^(hf:|https?:|file:)/i.test(model);
  return {
    ...(model === undefined ? {} : { modelPath: isUri ? model : absolutePath(model, place.workspace, loaded.env) }),
    ...(cacheDir === undefined ? {} : { modelCacheDir: absolutePath(cacheDir, place.workspace, loaded.env) }),
    ...(typeof contextSize === "number" ? { contextSize: Math.floor(contextSize) } : {}),
    ...(threads === undefined ? {} : { threads }),
  };
}

async function addKeys(
  settings: EmbeddingSettings,
  keys: KeyReader,
  loaded: LoadedConfig,
  issues: string[],
): Promise<void> {
  await addRemoteKey(settings, keys, loaded);
  const auth = readAuthStore(settings.authStore, issues);
  const named = [settings.provider, settings.fallback].filter((id) => !["auto", "none", "local"].includes(id));
  for (const id of new Set(named)) settings.credentials[id] = await credentialsOf(id, loaded, auth);
  if (settings.provider === "auto") Object.assign(settings.credentials, await firstWithKey(settings, loaded, auth));
  const problems = [settings, ...Object.values(settings.credentials)].map((entry) => entry.problem);
  issues.push(...problems.filter((problem) => problem !== undefined));
}

async function firstWithKey(
  settings: EmbeddingSettings,
  loaded: LoadedConfig,
  auth: AuthStore,
): Promise<Record<string, ProviderCredentials>> {
  const tried: Record<string, ProviderCredentials> = {};
  if (settings.apiKey !== undefined) return tried;
  for (const id of AUTOMATIC_PROVIDERS) {
    const found = settings.credentials[id] ?? (await credentialsOf(id, loaded, auth));
    tried[id] = found;
    if (found.apiKey !== undefined) break;
  }
  return tried;
}

async function addRemoteKey(settings: EmbeddingSettings, keys: KeyReader, loaded: LoadedConfig): Promise<void> {
  const input = keys.value("remote.apiKey");
  if (input === undefined) return;
  try {
    const place = { config: loaded.data, env: loaded.env, stateDir: loaded.stateDir };
    const key = await secretOf(input, keys.origin("remote.apiKey"), place);
    // Older configurations name the variable itself in place of the key.
    const isName = settings.provider === "gemini" && (key === "GEMINI_API_KEY" || key === "GOOGLE_API_KEY");
    const value = isName && key !== undefined ? envText(loaded.env, key) : key;
    if (value !== undefined) Object.assign(settings, { apiKey: value, keyOrigin: keys.origin("remote.apiKey") });
  } catch (error) {
    settings.problem = messageOf(error);
  }
}
