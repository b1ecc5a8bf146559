import { isObject } from "../../json.ts";
import { RpcError } from "../jsonrpc.ts";

/** The stateless revision, where each request says which version it speaks (specification 2026-07-28, basic/versioning). */
export const MODERN_VERSION = "2026-07-28";

/** Revisions that begin with `initialize`, newest first. */
const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

export const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS];

/** Which kind of answers a request wants. */
export type Era = "modern" | "legacy";

const META = "io.modelcontextprotocol/";
export const VERSION_KEY = `${META}protocolVersion`;
export const SERVER_INFO_KEY = `${META}serverInfo`;
const CAPABILITIES_KEY = `${META}clientCapabilities`;

/** Error numbers of the protocol beyond JSON-RPC's own. */
export const MCP_ERRORS = { internal: -32603, headerMismatch: -32020, unsupportedVersion: -32022 } as const;

/** The `_meta` of a request's parameters. */
export function metaOf(params: Record<string, unknown>): Record<string, unknown> {
  const meta = params["_meta"];
  return isObject(meta) ? meta : {};
}

/** Whether a request carries, or tries to carry, what the stateless revision wants on each. */
export function claimsModern(params: Record<string, unknown>): boolean {
  const meta = metaOf(params);
  return VERSION_KEY in meta || CAPABILITIES_KEY in meta;
}

/**
 * The era that a request belongs to by its own word. One that claims the stateless revision must name a version we know and its
 * capabilities; otherwise this throws −32602 or −32022.
 */
export function eraOf(params: Record<string, unknown>): Era {
  if (!claimsModern(params)) return "legacy";
  const meta = metaOf(params);
  const version = meta[VERSION_KEY];
  if (typeof version !== "string") throw missingMeta(VERSION_KEY);
  if (!SUPPORTED_VERSIONS.includes(version)) throw unsupportedVersion(version);
  if (!isObject(meta[CAPABILITIES_KEY])) throw missingMeta(CAPABILITIES_KEY);
  return version === MODERN_VERSION ? "modern" : "legacy";
}

/**
 * Why several messages can't come in one array from a client that speaks `version` (null: not said yet), or null where they can. Batches
 * came with 2025-03-26, by which a handshake stands alone, and went with 2025-06-18.
 */
export function batchRefusal(version: string | null, messages: readonly unknown[]): string | null {
  const calls = messages.filter(isObject);
  const isModern = calls.some(({ params }) => isObject(params) && claimsModern(params));
  const spoken = isModern ? MODERN_VERSION : version;
  if (spoken !== null && spoken >= "2025-06-18")
    return `protocol version ${spoken} has no batches; send one message at a time`;
  return calls.some(({ method }) => method === "initialize") ? "initialize can't be part of a batch" : null;
}

/** −32602 for a request that says neither in itself nor by a handshake before it which version it speaks. */
export function missingMeta(key: string = `${VERSION_KEY} and ${CAPABILITIES_KEY}`): RpcError {
  return new RpcError("invalidParams", `params._meta lacks ${key}`);
}

/** −32022 for a version that is not spoken here, with those that are. */
export function unsupportedVersion(requested: string): RpcError {
  return new RpcError(MCP_ERRORS.unsupportedVersion, "Unsupported protocol version", {
    supported: SUPPORTED_VERSIONS,
    requested,
  });
}

/** The version that `initialize` agrees on: the client's if we know it, else our newest of those that begin so. */
export function agreedVersion(wanted: unknown): string {
  return LEGACY_VERSIONS.find((version) => version === wanted) ?? LEGACY_VERSIONS[0];
}
