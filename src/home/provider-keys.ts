import { envText, type Env } from "./paths.ts";
import type { ProviderCredentials } from "./types.ts";

/** Variables that may hold a provider's key, the first that is set wins. */
const KEY_VARIABLES: Record<string, readonly string[]> = {
  openai: ["OPENAI_API_KEY"],
  gemini: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  voyage: ["VOYAGE_API_KEY"],
  mistral: ["MISTRAL_API_KEY"],
  deepinfra: ["DEEPINFRA_API_KEY"],
  "github-copilot": ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
  ollama: ["OLLAMA_API_KEY"],
  lmstudio: ["LM_API_TOKEN"],
  bedrock: ["AWS_BEARER_TOKEN_BEDROCK"],
};

/** Variables that hold several keys of a provider, to be used in turn when one has reached its limit. */
const LIST_VARIABLES: Record<string, { list: string; numbered: RegExp }> = {
  gemini: { list: "GEMINI_API_KEYS", numbered: /^GEMINI_API_KEY_\d+$/ },
};

/** The keys of a provider that the environment holds, each once; the first is the one to use. */
function keysOfEnvironment(provider: string, env: Env): { name: string; key: string }[] {
  const { list, numbered } = LIST_VARIABLES[provider] ?? {};
  const further = numbered === undefined ? [] : Object.keys(env).filter((name) => numbered.test(name));
  const names = [
    ...(KEY_VARIABLES[provider] ?? []),
    ...further.sort((a, b) => a.localeCompare(b, "en", { numeric: true })),
  ];
  const single = names.flatMap((name) => {
    const key = envText(env, name);
    return key === undefined ? [] : [{ name, key }];
  });
  const listed = list === undefined ? [] : (envText(env, list)?.split(/[\s,;]+/) ?? []);
  const all = [...listed.filter((key) => key !== "").map((key) => ({ name: list ?? "", key })), ...single];
  return [...new Map(all.map((one) => [one.key, one])).values()];
}

/** What the environment knows of a provider: its first key, where that stands, and further ones. */
export function environmentCredentials(provider: string, env: Env): ProviderCredentials {
  const [first, ...others] = keysOfEnvironment(provider, env);
  if (first === undefined) return {};
  const found = { apiKey: first.key, keyOrigin: `environment variable ${first.name}` };
  return others.length === 0 ? found : { ...found, otherKeys: others.map(({ key }) => key) };
}
