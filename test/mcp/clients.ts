import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as LegacyHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Json } from "../gateway/client.ts";
import { childEnv, memqCommand } from "../cli/program.ts";

/** What of a client both generations of the official one have in common, as far as the tests use it. */
export type ForeignClient = {
  listTools(): Promise<{ tools: { name: string; inputSchema: object; outputSchema?: object; annotations?: object }[] }>;
  callTool(
    call: { name: string; arguments?: Record<string, unknown> },
    options?: { signal?: AbortSignal; onprogress?: (progress: { progress: number; message?: string }) => void },
  ): Promise<ToolResult>;
  getInstructions(): string | undefined;
  getServerVersion(): { name: string; version: string } | undefined;
  listResources(): Promise<{ resources: unknown[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: { uri: string; text?: string }[] }>;
  close(): Promise<void>;
};

export type ToolResult = {
  content: { type: string; text?: string; resource?: { uri: string; mimeType?: string; text: string } }[];
  // Whatever the tool gives; tests look into it.
  structuredContent?: Json;
  isError?: boolean;
};

export type Generation = "legacy" | "modern";
export const GENERATIONS: Generation[] = ["legacy", "modern"];
const INFO = { name: "memq-tests", version: "1.0.0" };

/** A session of the official client, of the older generation (1.x) or the newer (2.x, held to the stateless revision). */
export async function connectStdio(
  generation: Generation,
  args: string[],
  options: { env?: Record<string, string>; cwd?: string; onStderr?: (text: string) => void } = {},
): Promise<ForeignClient & { pid: number | null }> {
  const [command = "", ...words] = memqCommand("mcp", ...args);
  const server = {
    command,
    args: words,
    env: childEnv(options.env),
    stderr: "pipe" as const,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  };
  const transport = generation === "legacy" ? new LegacyStdio(server) : new ModernStdio(server);
  transport.stderr?.on("data", (chunk: Buffer) => options.onStderr?.(chunk.toString()));
  const client = await connect(generation, transport);
  return Object.assign(client, { pid: transport.pid });
}

export async function connectHttp(
  generation: Generation,
  url: string,
  headers: Record<string, string> = {},
): Promise<ForeignClient> {
  const options = { requestInit: { headers } };
  return connect(
    generation,
    generation === "legacy" ? new LegacyHttp(new URL(url), options) : new ModernHttp(new URL(url), options),
  );
}

async function connect(generation: Generation, transport: unknown): Promise<ForeignClient> {
  if (generation === "legacy") {
    const client = new LegacyClient(INFO, { capabilities: {} });
    await client.connect(transport as Transport);
    const call = client.callTool.bind(client);
    // The older client takes a schema of the result before the options.
    return Object.assign(client, {
      callTool: (params: Parameters<typeof call>[0], options: Parameters<typeof call>[2]) =>
        call(params, undefined, options),
    }) as unknown as ForeignClient;
  }
  const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(transport as Parameters<ModernClient["connect"]>[0]);
  return client as unknown as ForeignClient;
}
