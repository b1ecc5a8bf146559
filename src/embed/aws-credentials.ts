import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Fetch, HttpContext } from "./http.ts";
import { isLoopback } from "./hosts.ts";

export type AwsCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  /** Milliseconds since 1970; absent: they don't end. */
  expires?: number;
};

type Env = HttpContext["env"];

/** Metadata services answer at once or are not there. */
const METADATA_MS = 1000;
const ECS_ADDRESS = "http://169.254.170.2";
const EC2_ADDRESS = "http://169.254.169.254";

/**
 * AWS credentials by the usual chain: environment, a web identity token, the shared credentials and config files, the
 * container's endpoint, the instance's. Null when there are none. Single sign-on and assumed roles of the config file are left to
 * `aws configure export-credentials`.
 */
export async function awsCredentials(http: HttpContext): Promise<AwsCredentials | null> {
  return (
    fromEnvironment(http.env) ??
    (await fromWebIdentity(http)) ??
    fromSharedFiles(http.env) ??
    (await fromContainer(http)) ??
    (await fromInstance(http))
  );
}

function fromEnvironment(env: Env): AwsCredentials | null {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey) return null;
  return { accessKeyId, secretAccessKey, sessionToken: env["AWS_SESSION_TOKEN"] || undefined };
}

function fromSharedFiles(env: Env): AwsCredentials | null {
  const folder = join(env["HOME"] || homedir(), ".aws");
  const profile = env["AWS_PROFILE"] || env["AWS_DEFAULT_PROFILE"] || "default";
  const credentials = env["AWS_SHARED_CREDENTIALS_FILE"] || join(folder, "credentials");
  const config = env["AWS_CONFIG_FILE"] || join(folder, "config");
  const sectionOfConfig = profile === "default" ? profile : `profile ${profile}`;
  return keysIn(credentials, profile) ?? keysIn(config, sectionOfConfig);
}

function keysIn(path: string, section: string): AwsCredentials | null {
  const values = sectionOf(path, section);
  const accessKeyId = values["aws_access_key_id"];
  const secretAccessKey = values["aws_secret_access_key"];
  if (!accessKeyId || !secretAccessKey) return null;
  return { accessKeyId, secretAccessKey, sessionToken: values["aws_session_token"] || undefined };
}

/** The `name = value` lines of one `[section]`; empty when the file or the section is missing. */
function sectionOf(path: string, section: string): Record<string, string> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return {};
  }
  const values: Record<string, string> = {};
  let inside = false;
  for (const line of text.split(/\r?\n/)) {
    const heading = /^\s*\[([^\]]*)\]/.exec(line)?.[1]?.trim();
    if (heading !== undefined) inside = heading.replace(/\s+/g, " ") === section;
    const pair = inside ? /^([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) : null;
    if (pair?.[1] !== undefined) values[pair[1].toLowerCase()] = pair[2] ?? "";
  }
  return values;
}

async function fromWebIdentity({ env, fetch }: HttpContext): Promise<AwsCredentials | null> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } = env;
  if (!file || !role) return null;
  const region = env["AWS_REGION"] || env["AWS_DEFAULT_REGION"];
  const query = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: role,
    RoleSessionName: env["AWS_ROLE_SESSION_NAME"] || "memq",
    WebIdentityToken: readFileSync(file, "utf8").trim(),
  });
  const host = region ? `sts.${region}.amazonaws.com` : "sts.amazonaws.com";
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  const body = query.toString();
  const xml = await textOf(fetch, `https://${host}/`, { method: "POST", headers, body }, 10_000);
  const tag = (name: string): string | undefined => new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml ?? "")?.[1];
  return credentialsFrom({
    AccessKeyId: tag("AccessKeyId"),
    SecretAccessKey: tag("SecretAccessKey"),
    Token: tag("SessionToken"),
    Expiration: tag("Expiration"),
  });
}

async function fromContainer({ env, fetch }: HttpContext): Promise<AwsCredentials | null> {
  const relative = env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
  const full = env["AWS_CONTAINER_CREDENTIALS_FULL_URI"];
  const url = relative ? ECS_ADDRESS + relative : full;
  if (!url || !URL.canParse(url) || !isTrustedContainer(new URL(url))) return null;
  const tokenFile = env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"];
  const token = tokenFile ? readFileSync(tokenFile, "utf8").trim() : env["AWS_CONTAINER_AUTHORIZATION_TOKEN"];
  return jsonCredentials(await textOf(fetch, url, { headers: token ? { Authorization: token } : {} }, METADATA_MS));
}

/** The token goes out unencrypted only to this machine and to the two addresses that containers use. */
function isTrustedContainer({ protocol, hostname }: URL): boolean {
  const known = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];
  return protocol === "https:" || (protocol === "http:" && (isLoopback(hostname) || known.includes(hostname)));
}

/** Version 2 of the instance metadata service: a token first. */
async function fromInstance({ env, fetch }: HttpContext): Promise<AwsCredentials | null> {
  if (env["AWS_EC2_METADATA_DISABLED"]?.toLowerCase() === "true") return null;
  const base = `${EC2_ADDRESS}/latest`;
  const lifetime = { "X-aws-ec2-metadata-token-ttl-seconds": "300" };
  const token = await textOf(fetch, `${base}/api/token`, { method: "PUT", headers: lifetime }, METADATA_MS);
  if (!token) return null;
  const headers = { "X-aws-ec2-metadata-token": token };
  const roles = `${base}/meta-data/iam/security-credentials/`;
  const role = (await textOf(fetch, roles, { headers }, METADATA_MS))?.split("\n")[0]?.trim();
  return role ? jsonCredentials(await textOf(fetch, roles + role, { headers }, METADATA_MS)) : null;
}

/** The body of a successful answer, null for any other and for none in time. Never through a proxy, never redirected. */
async function textOf(fetch: Fetch, url: string, init: RequestInit, limitMs: number): Promise<string | null> {
  const direct = { ...init, redirect: "error", signal: AbortSignal.timeout(limitMs) };
  const metadata = url.startsWith("http://") ? { ...direct, proxy: false } : direct;
  try {
    const response = await fetch(url, metadata as RequestInit);
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}

function jsonCredentials(text: string | null): AwsCredentials | null {
  try {
    return text === null ? null : credentialsFrom(JSON.parse(text) as Record<string, unknown>);
  } catch {
    return null;
  }
}

function credentialsFrom(found: Record<string, unknown>): AwsCredentials | null {
  const { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: end } = found;
  if (typeof id !== "string" || typeof secret !== "string") return null;
  return {
    accessKeyId: id,
    secretAccessKey: secret,
    sessionToken: typeof token === "string" ? token : undefined,
    expires: typeof end === "string" ? Date.parse(end) : undefined,
  };
}
