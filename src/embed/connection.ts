import { dirname } from "node:path";
import type { EmbeddingSettings, ProviderCredentials } from "../home/types.ts";
import { EmbedError } from "./errors.ts";
import { decodedOrSame } from "./spec.ts";

/** Where a provider is reached and what it is told about who asks. */
export type Connection = {
  /** Without a final slash, user name or password. */
  baseUrl: string;
  headers: Record<string, string>;
  /** Everything in them that must never be printed. */
  secrets: string[];
};

export type ConnectionNeeds = {
  /** As messages name it: the provider's id, or that of a custom `models.providers` entry. */
  id: string;
  /** Names it goes by in `models.providers` and auth profiles. */
  aliases?: readonly string[];
  defaultBaseUrl?: string;
  /** Whether it works without a key. */
  keyless?: boolean;
  /** Header that carries the key. */
  keyHeader?: (key: string) => Record<string, string>;
  /** Brings base URLs of other spellings into the one that is used here. */
  tidy?: (baseUrl: string) => string;
};

const AUTH_HEADERS = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/** The usual header for a key. */
export const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` });

/** Credentials under any of a provider's names, the first that has a field winning. */
export function credentialsOf(settings: EmbeddingSettings, names: readonly string[]): ProviderCredentials {
  const merged: ProviderCredentials = {};
  for (const name of names) {
    const { apiKey, keyOrigin, otherKeys, baseUrl, headers, api, problem } = settings.credentials[name] ?? {};
    merged.problem ??= problem;
    if (merged.apiKey === undefined && apiKey) Object.assign(merged, { apiKey, keyOrigin, otherKeys });
    merged.baseUrl ??= baseUrl || undefined;
    merged.headers ??= headers;
    merged.api ??= api;
  }
  return merged;
}

/**
 * The destination and what is sent along. A provider's own key and headers go only to its own base URL (scheme, host, port,
 * path and query compared); another destination needs a key or an authorization header of its own.
 */
export function connectionOf(settings: EmbeddingSettings, needs: ConnectionNeeds): Connection {
  const tidy = (url: string): string => trimmedUrl(needs.tidy?.(url) ?? url);
  if (settings.problem !== undefined) throw new EmbedError("fatal", settings.problem);
  const names = [needs.id, ...(needs.aliases ?? [])];
  const credentials = credentialsOf(settings, names);
  const home = credentials.baseUrl ?? needs.defaultBaseUrl;
  const given = settings.baseUrl ?? home;
  if (given === undefined) throw missingBaseUrl(needs.id);
  const target = tidy(given);
  const isOwn = home !== undefined && target === tidy(home);
  const key = settings.apiKey || (isOwn ? credentials.apiKey : undefined);
  const { baseUrl, userInfo } = withoutUserInfo(target, needs.id);
  const headers = mergedHeaders([
    { "Content-Type": "application/json" },
    userInfo === null ? {} : { Authorization: `Basic ${Buffer.from(userInfo).toString("base64")}` },
    key === undefined ? {} : (needs.keyHeader ?? bearer)(key),
    isOwn ? (credentials.headers ?? {}) : {},
    settings.headers,
  ]);
  if (!needs.keyless && !AUTH_HEADERS.some((name) => valueOf(headers, name))) {
    throw isOwn ? missingKey(settings, names) : foreignDestination(needs.id, withoutQuery(baseUrl));
  }
  checkHeaders(headers, needs.id);
  return { baseUrl, headers, secrets: secretsIn(headers, baseUrl, key, userInfo) };
}

/** `base` with `path` added to its own path; a query of the base stays. */
export function urlOf(base: string, path: string): string {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url.href;
}

/** A base URL as part of the vectors' identity: no query, no credentials. */
export function withoutQuery(baseUrl: string): string {
  const url = new URL(baseUrl);
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

/** Whether an error says that no key was found, which lets automatic selection go on to the next provider. */
export function isMissingKey(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("No API key found for provider");
}

/** The sentence for a provider without a key; `names` are its own name and its others. */
export function missingKey(settings: EmbeddingSettings, names: readonly string[]): EmbedError {
  const id = names[0] ?? "";
  const { problem } = credentialsOf(settings, names);
  if (problem !== undefined) return new EmbedError("fatal", problem);
  const { authStore } = settings;
  const store = authStore ? ` Auth store: ${authStore} (agentDir: ${dirname(authStore)}).` : "";
  return new EmbedError("fatal", `No API key found for provider "${id}".${store}`, {
    hint: `Set the provider's key in the environment, as remote.apiKey or as models.providers.${id}.apiKey, or choose provider "none" for keyword search only.`,
  });
}

/** The error for a destination to which the keys at hand must not go. */
export function foreignDestination(id: string, baseUrl: string): EmbedError {
  return new EmbedError(
    "fatal",
    `${id} embedding credentials are not configured for ${baseUrl}. Set memory.search.remote.apiKey or an Authorization header for this destination.`,
  );
}

function missingBaseUrl(id: string): EmbedError {
  return new EmbedError("fatal", `No base URL is configured for embedding provider "${id}".`, {
    hint: `Set remote.baseUrl or models.providers.${id}.baseUrl.`,
  });
}

function trimmedUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.hash = "";
  url.pathname = url.pathname.replace(/\/+$/, "");
  return url.href.replace(/\/(?=$|\?)/, "");
}

function withoutUserInfo(text: string, id: string): { baseUrl: string; userInfo: string | null } {
  if (!URL.canParse(text) || !/^https?:/.test(text)) {
    throw new EmbedError("fatal", `The base URL of embedding provider "${id}" is not an http or https address.`, {
      hint: "It should look like https://host/v1.",
    });
  }
  const url = new URL(text);
  const userInfo = url.username === "" ? null : `${decodedOrSame(url.username)}:${decodedOrSame(url.password)}`;
  url.username = "";
  url.password = "";
  return { baseUrl: userInfo === null ? text : trimmedUrl(url.href), userInfo };
}

/** Refuses what no request can carry, before anything is sent. */
function checkHeaders(headers: Record<string, string>, id: string): void {
  for (const [name, value] of Object.entries(headers)) {
    const what = AUTH_HEADERS.includes(name.toLowerCase()) ? "key" : `header ${JSON.stringify(name)}`;
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    if (/^[!#$%&'*+.^`|~\w-]+$/.test(name) && /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value.trim())) continue;
    throw new EmbedError(
      "fatal",
      `The ${what} of embedding provider "${id}" holds a line break or another character that can't be sent.`,
      { hint: "Look whether more was copied than belongs to it." },
    );
  }
}

/** Later ones win, whatever the case of their names. */
function mergedHeaders(sources: readonly Record<string, string>[]): Record<string, string> {
  const merged = new Map<string, [string, string]>();
  for (const source of sources) {
    for (const [name, value] of Object.entries(source)) merged.set(name.toLowerCase(), [name, value]);
  }
  return Object.fromEntries(merged.values());
}

function valueOf(headers: Record<string, string>, name: string): string | undefined {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

function secretsIn(
  headers: Record<string, string>,
  baseUrl: string,
  key: string | undefined,
  userInfo: string | null,
): string[] {
  const values = Object.entries(headers)
    .filter(([name]) => name.toLowerCase() !== "content-type")
    // "Bearer abc" is a secret as a whole, and so is "abc".
    .flatMap(([, value]) => value.split(/\s+/).concat(value));
  const query = [...new URL(baseUrl).searchParams.values()];
  const password = userInfo?.slice(userInfo.indexOf(":") + 1);
  const all = [key, password, ...values, ...query].filter((value) => value !== undefined && value.length >= 6);
  return [...new Set(all as string[])].sort((a, b) => b.length - a.length);
}

/** `model` without the first of `prefixes` that it begins with (`openai/`, …). */
export function bareModel(model: string, prefixes: readonly string[]): string {
  const trimmed = model.trim();
  const prefix = prefixes.find((candidate) => trimmed.startsWith(candidate));
  return prefix === undefined ? trimmed : trimmed.slice(prefix.length);
}
