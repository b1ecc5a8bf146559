import { MCP_CLIENTS } from "./mcp-clients.ts";
import { OPENCLAW } from "./openclaw/client.ts";
import type { Client } from "./setup.ts";

/** Every program that `memq setup` knows. */
export const CLIENTS: readonly Client[] = [OPENCLAW, ...MCP_CLIENTS];
