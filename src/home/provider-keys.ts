import { envText, type Env } from "./paths.ts";

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

/** The first variable of the provider that is set. */
export function keyOfEnvironment(provider: string, env: Env): string | undefined {
  for (const name of KEY_VARIABLES[provider] ?? []) {
    const value = envText(env, name);
    if (value !== undefined) return value;
  }
  return undefined;
}
