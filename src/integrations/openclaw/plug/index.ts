/*
 * memq as the gateway's memory: one `memq rpc` process for all agents, behind memory_search and memory_get.
 * Chosen by `plugins.slots.memory: "memq"`; configured below `plugins.entries.memq.config` (see openclaw.plugin.json).
 */
import type { PluginApi, PromptContext, ServiceContext, SessionUpdate, Tool, ToolContext } from "./api.ts";
import type { RpcChild } from "./rpc-child.ts";
import { rpcChild } from "./rpc-child.ts";
import { getTool, isOn, searchTool } from "./tools.ts";

const DEFAULT_DEADLINE_MS = 15_000;

export default {
  id: "memq",
  name: "memq",
  description: "Agent memory from memq: Markdown notes found by keyword and by meaning.",
  kind: "memory",
  register,
};

function register(api: PluginApi): void {
  const { command, agentId, deadlineMs } = configuration(api.pluginConfig ?? {});
  let service: ServiceContext | undefined;

  const stateDir = (): string | undefined => service?.stateDir ?? api.runtime?.state?.resolveStateDir?.();
  const child = (): RpcChild =>
    sharedChild([...command, agentId ?? "", stateDir() ?? ""], () =>
      rpcChild({ command, place: () => place(api, agentId, stateDir(), service?.workspaceDir), log: api.logger }),
    );

  const options = { child, agentId, deadlineMs };
  // An agent whose memory is switched off has neither tool, and so no words about them in its prompt.
  const offered =
    (tool: typeof searchTool) =>
    (context: ToolContext): Tool | null =>
      isOn(context.config ?? configOf(api), agentId ?? context.agentId) ? tool(context, options) : null;
  api.registerTool(offered(searchTool), { names: ["memory_search"] });
  api.registerTool(offered(getTool), { names: ["memory_get"] });
  api.registerMemoryCapability?.({ deterministicRecallToolName: "memory_search", promptBuilder: promptSection });

  let held: RpcChild | undefined;
  let unsubscribe: (() => void) | undefined;
  const notify = (method: string, id: string | undefined, sessionKey: string | undefined): void => {
    const agent = agentId ?? id;
    if (sessionKey === undefined) return;
    held?.notify(method, { sessionKey, ...(agent === undefined ? {} : { agentId: agent }) });
  };
  api.on?.("session_start", (event, context) =>
    notify("session.started", context.agentId, event.sessionKey ?? context.sessionKey),
  );
  api.registerService({
    id: "memq",
    start(context) {
      service = context;
      held = child();
      // In the background: the gateway waits for nothing.
      held.hold();
      unsubscribe = api.runtime?.events?.onSessionTranscriptUpdate?.((update: SessionUpdate) =>
        notify(
          "session.updated",
          update.agentId ?? update.target?.agentId,
          update.sessionKey ?? update.target?.sessionKey,
        ),
      );
    },
    async stop() {
      unsubscribe?.();
      const ending = held;
      held = undefined;
      if ((await ending?.release()) === true) forget(ending);
    },
  });
}

type Configuration = { command: readonly string[]; agentId: string | undefined; deadlineMs: number };

/** The gateway has checked it against the schema of the manifest. */
function configuration(config: Record<string, unknown>): Configuration {
  const { command = "memq", agentId, deadlineMs = DEFAULT_DEADLINE_MS } = config;
  return {
    command: Array.isArray(command) ? command.map(String) : [String(command)],
    agentId: typeof agentId === "string" ? agentId : undefined,
    deadlineMs: Number(deadlineMs),
  };
}

/** Parameters of `initialize`: whose memory, and where. Without an agent of our own it is the gateway's default agent. */
function place(
  api: PluginApi,
  agentId: string | undefined,
  stateDir: string | undefined,
  workspaceDir: string | undefined,
): Record<string, unknown> {
  const config = configOf(api);
  const workspace =
    agentId === undefined ? workspaceDir : api.runtime?.agent?.resolveAgentWorkspaceDir?.(config, agentId);
  return {
    ...(agentId === undefined ? {} : { agentId }),
    ...(workspace === undefined ? {} : { workspace }),
    ...(stateDir === undefined ? {} : { stateDir }),
    clientInfo: { name: "openclaw" },
  };
}

function configOf(api: PluginApi): unknown {
  return api.runtime?.config?.current?.() ?? api.config;
}

const CHILDREN = Symbol.for("memq.openclaw.children");

/** The gateway registers a plugin several times (to run it, to list its tools); all of them share one process. */
function sharedChildren(): Map<string, RpcChild> {
  const shared = globalThis as { [CHILDREN]?: Map<string, RpcChild> };
  return (shared[CHILDREN] ??= new Map());
}

function sharedChild(key: string[], make: () => RpcChild): RpcChild {
  const children = sharedChildren();
  const name = JSON.stringify(key);
  const existing = children.get(name);
  if (existing !== undefined) return existing;
  const made = make();
  children.set(name, made);
  return made;
}

/** What comes next gets a process with its own configuration and log. */
function forget(child: RpcChild | undefined): void {
  for (const [name, shared] of sharedChildren()) if (shared === child) sharedChildren().delete(name);
}

function promptSection({ availableTools, citationsMode }: PromptContext): string[] {
  if (!availableTools.has("memory_search")) return [];
  const reading = availableTools.has("memory_get")
    ? " Read more of a hit with memory_get, only the lines you need."
    : "";
  return [
    "## Memory Recall",
    `Call memory_search before you answer about earlier work, decisions, dates, people, preferences or to-dos.${reading}`,
    "If you are still unsure afterwards, say that you looked. If the search was unavailable or partial, say so, with the action it names.",
    citationsMode === "off"
      ? "Citations are off: name no paths or line numbers unless the user asks."
      : "Add 'Source: <path#line>' where it helps the user to check.",
    "",
  ];
}
