import type { EmbeddingSettings } from "../home/types.ts";
import { awsCredentials, type AwsCredentials } from "./aws-credentials.ts";
import { bedrockDimensions, bedrockModelOf } from "./bedrock-models.ts";
import { bareModel, bearer, credentialsOf, foreignDestination, missingKey, urlOf, withoutQuery } from "./connection.ts";
import { requestJson, withFreshKeys } from "./exchange.ts";
import type { MakeProtocol, ProviderContext } from "./provider-context.ts";

const NAMES = ["bedrock", "amazon-bedrock"];
const FAILURE = "bedrock embeddings failed:";
const FIVE_MINUTES = 300_000;

type Authorizer = {
  /** Headers for one request, and what in them must not be printed. */
  authorize: (url: string, body: string) => Promise<{ headers: Record<string, string>; secrets: string[] }>;
  /** Looks for credentials again; whether they are others than before. */
  renew: () => Promise<boolean>;
};

/** Amazon Bedrock's `InvokeModel`, signed with AWS credentials (Signature Version 4) or with a bearer token. */
export const makeProtocol: MakeProtocol = async (settings, context) => {
  const { id } = context;
  const name = bareModel(settings.model ?? "amazon.titan-embed-text-v2:0", ["bedrock/", "amazon-bedrock/", "aws/"]);
  const model = bedrockModelOf(name);
  const dimensions = bedrockDimensions(name, model, settings.outputDimensionality);
  const region = regionOf(settings, context);
  const baseUrl = settings.baseUrl ?? credentialsOf(settings, NAMES).baseUrl ?? defaultBase(region);
  const { authorize, renew } = await authorizer(settings, region, baseUrl, context);
  const url = urlOf(baseUrl, `/model/${encodeURIComponent(name)}/invoke`);
  return {
    id,
    model: name,
    endpoint: withoutQuery(baseUrl),
    dimensions,
    documentInputType: name.includes("cohere.") ? "search_document" : null,
    promptForm: "raw",
    maxInputBytes: Math.min(8000, model.maxTokens),
    maxItems: model.maxItems,
    concurrency: 4,
    normalise: true,
    media: false,
    slow: false,
    failure: FAILURE,
    async embed(inputs, purpose, signal, exchange) {
      const texts = inputs.map((input) => input.text);
      const body = JSON.stringify(model.body(texts, purpose, dimensions ?? model.dimensions));
      const reply = await withFreshKeys(renew, async () => {
        const authorized = await authorize(url, body);
        return requestJson({ ...authorized, url, body, signal, provider: id, failure: FAILURE }, exchange);
      });
      return model.vectors(reply);
    },
  };
};

/** By the base URL, then by the environment. */
function regionOf(settings: EmbeddingSettings, { http }: ProviderContext): string {
  const bases = [settings.baseUrl, credentialsOf(settings, NAMES).baseUrl];
  const named = bases.map((base) => /bedrock-runtime(?:-fips)?\.([a-z\d-]+)\./.exec(base ?? "")?.[1]);
  const fromBase = named.find((region) => region !== undefined);
  return fromBase ?? (http.env["AWS_REGION"] || http.env["AWS_DEFAULT_REGION"] || "us-east-1");
}

function defaultBase(region: string): string {
  return `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

async function authorizer(
  settings: EmbeddingSettings,
  region: string,
  baseUrl: string,
  context: ProviderContext,
): Promise<Authorizer> {
  const plain = { "Content-Type": "application/json", Accept: "application/json", ...settings.headers };
  const configured = Object.values(settings.headers);
  const own = credentialsOf(settings, NAMES);
  const isOwn = isAmazonHost(baseUrl) || baseUrl === own.baseUrl;
  if (Object.keys(settings.headers).some((header) => header.toLowerCase() === "authorization")) {
    return fixed(plain, configured);
  }
  if (!settings.apiKey && !isOwn) throw foreignDestination(context.id, withoutQuery(baseUrl));
  const token = settings.apiKey || context.http.env["AWS_BEARER_TOKEN_BEDROCK"] || own.apiKey;
  if (token) {
    return fixed({ ...plain, ...bearer(token) }, [token, ...configured]);
  }
  const credentials = await credentialKeeper(settings, context);
  const authorize: Authorizer["authorize"] = async (url, body) => {
    const keys = await credentials.current();
    const { AwsV4Signer } = await import("aws4fetch");
    const signer = new AwsV4Signer({ ...keys, url, body, headers: plain, method: "POST", service: "bedrock", region });
    const signed = await signer.sign();
    const secrets = [keys.secretAccessKey, keys.sessionToken ?? "", keys.accessKeyId, ...configured];
    return { headers: Object.fromEntries(signed.headers), secrets };
  };
  return { authorize, renew: credentials.renew };
}

function fixed(headers: Record<string, string>, secrets: string[]): Authorizer {
  return { authorize: () => Promise.resolve({ headers, secrets }), renew: () => Promise.resolve(false) };
}

/** Valid credentials, looked for again before they end. Throws now when there are none. */
async function credentialKeeper(settings: EmbeddingSettings, context: ProviderContext) {
  const find = async (): Promise<AwsCredentials> => {
    const found = await awsCredentials(context.http);
    if (found === null) throw missingKey(settings, [context.id, ...NAMES]);
    return found;
  };
  let present = await find();
  const renew = async (): Promise<boolean> => {
    const before = present.accessKeyId;
    present = await find();
    return present.accessKeyId !== before;
  };
  const current = async (): Promise<AwsCredentials> => {
    const { expires } = present;
    if (expires !== undefined && expires - FIVE_MINUTES < context.clock.now()) await renew();
    return present;
  };
  return { current, renew };
}

/** Bedrock's own addresses, private endpoints included. */
function isAmazonHost(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" && /(^|\.)bedrock-runtime(-fips)?\.[a-z\d.-]+\.amazonaws\.com(\.cn)?$/.test(hostname);
}
