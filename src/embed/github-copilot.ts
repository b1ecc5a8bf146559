import type { EmbeddingSettings } from "../home/types.ts";
import { bareModel, credentialsOf, foreignDestination, missingKey, urlOf, withoutQuery } from "./connection.ts";
import { EmbedError } from "./errors.ts";
import { requestJson, withFreshKeys, type ExchangeContext } from "./exchange.ts";
import { openAiProtocol } from "./openai-form.ts";
import type { Protocol } from "./protocol.ts";
import type { MakeProtocol } from "./provider-context.ts";

const TOKEN_URL = "https://api.github.com/copilot_internal/v2/token";
const DEFAULT_BASE = "https://api.individual.githubcopilot.com";
const FAILURE = "GitHub Copilot embeddings HTTP";
/** Copilot answers editors only. */
const EDITOR_HEADERS = {
  "Editor-Version": "vscode/1.96.2",
  "Editor-Plugin-Version": "copilot-chat/0.26.7",
  "Copilot-Integration-Id": "vscode-chat",
  "User-Agent": "GitHubCopilotChat/0.26.7",
};
const PREFERRED = ["text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002"];

type Session = { baseUrl: string; headers: Record<string, string>; secrets: string[]; expires: number };

/**
 * GitHub Copilot: a GitHub token is exchanged for a short-lived one, the list of models is asked which embed, then OpenAI's form.
 * The GitHub token goes to GitHub alone. The address depends on the subscription and the vectors do not, so the default
 * one is their identity's.
 */
export const makeProtocol: MakeProtocol = async (settings, context) => {
  const { id } = context;
  const githubToken = settings.apiKey || credentialsOf(settings, [id]).apiKey;
  if (!githubToken) throw missingKey(settings, [id]);
  if (settings.baseUrl && !settings.apiKey && !isCopilotHost(settings.baseUrl)) {
    throw foreignDestination(id, withoutQuery(settings.baseUrl));
  }
  const { openSession, endSession } = sessionKeeper(githubToken, settings, id);
  const wanted = bareModel(settings.model ?? "", ["github-copilot/"]);
  const modelList = async (signal: AbortSignal, exchange: ExchangeContext): Promise<string[]> =>
    embeddingModels(await openSession(signal, exchange), id, signal, exchange);
  let checked = wanted === "";
  const limit = AbortSignal.timeout(15_000);
  const model = checked ? modelAmong(await modelList(limit, context), wanted) : wanted;
  const protocol = openAiProtocol({
    id,
    model,
    connection: { baseUrl: settings.baseUrl ?? DEFAULT_BASE, headers: {}, secrets: [] },
    dimensions: settings.outputDimensionality,
    normalise: true,
    failure: FAILURE,
    async prepare(signal, exchange) {
      if (!checked) modelAmong(await modelList(signal, exchange), wanted);
      checked = true;
      return openSession(signal, exchange);
    },
  });
  const embed: Protocol["embed"] = (...request) => withFreshKeys(endSession, () => protocol.embed(...request));
  return { ...protocol, embed };
};

/** The present session, for which tokens are exchanged again when it is about to end or was ended. */
function sessionKeeper(githubToken: string, settings: EmbeddingSettings, provider: string) {
  let session: Session | undefined;
  const endSession = (): boolean => {
    const had = session !== undefined;
    session = undefined;
    return had;
  };
  const openSession = async (signal: AbortSignal, context: ExchangeContext): Promise<Session> => {
    if (session && session.expires - 120_000 > context.clock.now()) return session;
    const headers = { Accept: "application/json", Authorization: `Bearer ${githubToken}`, ...EDITOR_HEADERS };
    const failure = "GitHub Copilot token exchange HTTP";
    const reply = (await requestJson(
      { url: TOKEN_URL, headers, signal, secrets: [githubToken], provider, failure },
      context,
    )) as { token?: unknown; expires_at?: unknown; endpoints?: { api?: unknown } };
    const { token, expires_at: expiresAt, endpoints } = reply;
    if (typeof token !== "string" || token === "") {
      throw new EmbedError("fatal", "GitHub gave no Copilot token.", { hint: "Does the account have Copilot?" });
    }
    session = {
      baseUrl: (settings.baseUrl ?? baseOf(endpoints?.api, token)).replace(/\/+$/, ""),
      headers: {
        "Content-Type": "application/json",
        Authorization: `Bearer ${token}`,
        ...EDITOR_HEADERS,
        ...settings.headers,
      },
      secrets: [githubToken, token, ...Object.values(settings.headers)],
      expires: typeof expiresAt === "number" ? expiresAt * 1000 : context.clock.now() + 600_000,
    };
    return session;
  };
  return { openSession, endSession };
}

/** The subscription's API: named in the reply, or beside the proxy's name (`proxy-ep=`) in the token itself. */
function baseOf(named: unknown, token: string): string {
  if (typeof named === "string" && isCopilotHost(named)) return named;
  const proxy = /(?:^|;)proxy-ep=(?:https?:\/\/)?([^;/\s]+)/.exec(token)?.[1];
  const derived = proxy === undefined ? "" : `https://${proxy.replace(/^proxy\./, "api.")}`;
  return isCopilotHost(derived) ? derived : DEFAULT_BASE;
}

function isCopilotHost(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" && /(^|\.)(githubcopilot\.com|ghe\.com)$/.test(hostname);
}

async function embeddingModels(
  session: Session,
  provider: string,
  signal: AbortSignal,
  context: ExchangeContext,
): Promise<string[]> {
  const { headers, secrets } = session;
  const url = urlOf(session.baseUrl, "/models");
  const reply = await requestJson({ url, headers, signal, secrets, provider, failure: FAILURE }, context);
  const { data } = reply as { data?: { id?: unknown; supported_endpoints?: unknown }[] };
  return (Array.isArray(data) ? data : []).flatMap(({ id, supported_endpoints: endpoints }) => {
    const embeds = Array.isArray(endpoints) && endpoints.some((endpoint) => String(endpoint).includes("embeddings"));
    return typeof id === "string" && (embeds || id.includes("embedding")) ? [id] : [];
  });
}

function modelAmong(available: string[], wanted: string): string {
  if (wanted === "") {
    const model = PREFERRED.find((name) => available.includes(name)) ?? available[0];
    if (model !== undefined) return model;
    throw new EmbedError("fatal", "GitHub Copilot offers no embedding models to this account.");
  }
  if (available.includes(wanted)) return wanted;
  const list = available.join(", ") || "none";
  throw new EmbedError("fatal", `GitHub Copilot embedding model "${wanted}" is not available. Available: ${list}`);
}
