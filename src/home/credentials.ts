import { messageOf } from "../errors.ts";
import { isObject, objectAt, textAt, valueAt, type JsonObject, type JsonValue } from "../json.ts";
import { requireVariables, type LoadedConfig } from "./openclaw-config.ts";
import { environmentCredentials } from "./provider-keys.ts";
import { textOfFile } from "./read-text.ts";
import { secretOf, type SecretPlace } from "./secrets.ts";
import type { ProviderCredentials } from "./types.ts";

/** Providers that go by another name in auth profiles and in `models.providers`. */
const AUTH_NAMES: Record<string, string> = { gemini: "google", bedrock: "amazon-bedrock" };

/** Providers that need no key. */
const KEYLESS = new Set(["local", "none", "auto"]);

/** `auth-profiles.json` of one agent. */
export type AuthStore = { path: string; data: JsonObject };

/** Reads an agent's auth profiles; a missing or broken file is an empty one, the latter with an issue. */
export function readAuthStore(path: string, issues: string[]): AuthStore {
  try {
    const data: unknown = JSON.parse(textOfFile(path));
    if (isObject(data)) return { path, data };
    issues.push(`${path} must hold an object: its keys are not used.`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") {
      issues.push(`${path} can't be read: its keys are not used.`);
    }
  }
  return { path, data: {} };
}

/**
 * What is known of one provider: key, address, headers and kind of interface. The key comes from the agent's auth profiles,
 * else the environment, else `models.providers.<id>.apiKey`. A key that can't be looked up is a `problem`, not an error:
 * keyword search goes on without it.
 */
export async function credentialsOf(
  provider: string,
  loaded: LoadedConfig,
  auth: AuthStore,
  now = Date.now(),
): Promise<ProviderCredentials> {
  if (KEYLESS.has(provider)) return {};
  const name = AUTH_NAMES[provider] ?? provider;
  const place: SecretPlace = { config: loaded.data, env: loaded.env, stateDir: loaded.stateDir };
  const found: ProviderCredentials = {};
  const settings = providerSettings(provider, name, loaded);
  try {
    if (settings !== null) Object.assign(found, await configuredEndpoint(settings, place));
    const key =
      (await keyOfProfiles(name, auth, loaded, place, now)) ??
      foundInEnvironment(provider, loaded) ??
      (settings === null ? undefined : await keyOfSettings(settings, loaded, place));
    if (key !== undefined) Object.assign(found, key);
    else if (provider === "openai" && hasOnlyOauth(name, auth.data)) found.problem = OAUTH_ONLY;
  } catch (error) {
    found.problem = messageOf(error);
  }
  return found;
}

const OAUTH_ONLY =
  'No API key found for provider "openai". You are authenticated with OpenAI Codex OAuth, which does not cover embeddings. ' +
  "Set OPENAI_API_KEY or models.providers.openai.apiKey.";

type FoundKey = Pick<ProviderCredentials, "apiKey" | "keyOrigin" | "otherKeys">;
type ProviderSettings = { settings: JsonObject; path: string };

function providerSettings(provider: string, name: string, loaded: LoadedConfig): ProviderSettings | null {
  for (const id of new Set([name, provider])) {
    const settings = objectAt(loaded.data, ["models", "providers", id]);
    if (settings !== null) return { settings, path: `models.providers.${id}` };
  }
  return null;
}

async function configuredEndpoint(from: ProviderSettings, place: SecretPlace): Promise<ProviderCredentials> {
  const found: ProviderCredentials = {};
  const baseUrl = textAt(from.settings, ["baseUrl"]);
  const api = textAt(from.settings, ["api"]);
  if (baseUrl !== undefined) found.baseUrl = baseUrl;
  if (api !== undefined) found.api = api;
  const headers: Record<string, string> = {};
  for (const [header, input] of Object.entries(objectAt(from.settings, ["headers"]) ?? {})) {
    const value = await secretOf(input, `${from.path}.headers.${header}`, place);
    if (value !== undefined) headers[header] = value;
  }
  if (Object.keys(headers).length > 0) found.headers = headers;
  return found;
}

async function keyOfSettings(
  from: ProviderSettings,
  loaded: LoadedConfig,
  place: SecretPlace,
): Promise<FoundKey | undefined> {
  const input = from.settings["apiKey"];
  if (input === undefined) return undefined;
  const keyOrigin = `${from.path}.apiKey`;
  requireVariables(loaded, keyOrigin);
  const apiKey = await secretOf(input, keyOrigin, place);
  return apiKey === undefined ? undefined : { apiKey, keyOrigin };
}

function foundInEnvironment(provider: string, { env }: LoadedConfig): FoundKey | undefined {
  const found = environmentCredentials(provider, env);
  return found.apiKey === undefined ? undefined : found;
}

/** The key of the first profile of a provider that has one, in the configured order; OAuth profiles hold none. */
async function keyOfProfiles(
  name: string,
  auth: AuthStore,
  loaded: LoadedConfig,
  place: SecretPlace,
  now: number,
): Promise<FoundKey | undefined> {
  for (const id of profileOrder(name, auth.data, loaded.data, now)) {
    const profile = objectAt(auth.data, ["profiles", id]) ?? {};
    const field = { api_key: "key", token: "token" }[textAt(profile, ["type"]) ?? ""];
    if (field === undefined || isExpired(profile, now)) continue;
    const input: JsonValue | undefined = profile[`${field}Ref`] ?? profile[field];
    const apiKey = input === undefined ? undefined : await secretOf(input, `${auth.path}: profile ${id}`, place);
    if (apiKey !== undefined) return { apiKey, keyOrigin: `auth profile ${id}` };
  }
  return undefined;
}

function isExpired(profile: JsonObject, now: number): boolean {
  const expires = profile["expires"];
  return typeof expires === "number" && expires > 0 && expires <= now;
}

/** Profiles of a provider: the stored or configured order, else the last good one first; those in cool-down come last. */
function profileOrder(name: string, store: JsonObject, config: JsonObject, now: number): string[] {
  const profiles = Object.entries(objectAt(store, ["profiles"]) ?? {})
    .filter(([id, profile]) => (textAt(profile, ["provider"]) ?? id.split(":")[0]) === name)
    .map(([id]) => id);
  const order = valueAt(store, ["order", name]) ?? valueAt(config, ["auth", "order", name]);
  const lastGood = textAt(store, ["lastGood", name]);
  const wanted = Array.isArray(order) ? order.filter((id) => typeof id === "string") : [];
  const first = wanted.length > 0 || lastGood === undefined ? wanted : [lastGood];
  const ordered = [...new Set([...first, ...profiles])].filter((id) => profiles.includes(id));
  const rests = (id: string): number => (isCoolingDown(objectAt(store, ["usageStats", id]), now) ? 1 : 0);
  return ordered.sort((a, b) => rests(a) - rests(b));
}

function isCoolingDown(stats: JsonObject | null, now: number): boolean {
  return ["cooldownUntil", "disabledUntil"].some((name) => {
    const until = stats?.[name];
    return typeof until === "number" && until > now;
  });
}

function hasOnlyOauth(name: string, store: JsonObject): boolean {
  const types = Object.values(objectAt(store, ["profiles"]) ?? {})
    .filter((profile) => textAt(profile, ["provider"])?.startsWith(name) === true)
    .map((profile) => textAt(profile, ["type"]));
  return types.length > 0 && types.every((type) => type === "oauth");
}
