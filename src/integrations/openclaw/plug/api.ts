/* What the plug uses of the gateway's plugin interface, as its published types describe it. Optional is what older hosts lack. */

export type Logger = { info(message: string): void; warn(message: string): void };

export type ToolContext = { agentId?: string; sessionKey?: string; config?: unknown };

export type ToolResult = { content: { type: "text"; text: string }[]; details: unknown };

export type Tool = {
  name: string;
  label: string;
  description: string;
  /** JSON Schema. */
  parameters: Record<string, unknown>;
  execute(callId: string, params: unknown, signal?: AbortSignal): Promise<ToolResult>;
};

export type ServiceContext = { stateDir: string; workspaceDir?: string };

export type SessionUpdate = {
  agentId?: string;
  sessionKey?: string;
  target?: { agentId?: string; sessionKey?: string };
};

export type PromptContext = { availableTools: ReadonlySet<string>; citationsMode?: string };

export type PluginApi = {
  registrationMode?: string;
  config: unknown;
  pluginConfig?: Record<string, unknown>;
  logger: Logger;
  runtime?: {
    config?: { current?(): unknown };
    state?: { resolveStateDir?(): string };
    agent?: { resolveAgentWorkspaceDir?(config: unknown, agentId: string): string };
    events?: { onSessionTranscriptUpdate?(listener: (update: SessionUpdate) => void): () => void };
  };
  /** Null: not for this agent. */
  registerTool(factory: (context: ToolContext) => Tool | null, options: { names: string[] }): void;
  registerService(service: {
    id: string;
    start(context: ServiceContext): void | Promise<void>;
    stop(): void | Promise<void>;
  }): void;
  registerMemoryCapability?(capability: {
    deterministicRecallToolName: string;
    promptBuilder(context: PromptContext): string[];
  }): void;
  on?(
    hook: "session_start",
    handler: (event: { sessionKey?: string }, context: { agentId?: string; sessionKey?: string }) => void,
  ): void;
};
