import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import plug from "../../src/integrations/openclaw/plug/index.ts";
import type { PluginApi, SessionUpdate, Tool, ToolContext } from "../../src/integrations/openclaw/plug/api.ts";
import { memqCommand } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";

const sample = resolve(import.meta.dir, "../fixtures/sample");

/** A folder of its own with a workspace, a state folder and a `memq` that notes each start in `pids` and what it is sent in `sent`. */
export function plugFolder(): {
  root: string;
  state: string;
  workspace: string;
  memq: string;
  pids(): number[];
  sent(): string;
  remove(): void;
} {
  const root = temporaryFolder("plug-");
  const [state, workspace, memq] = [join(root, "state"), join(root, "workspace"), join(root, "memq")];
  mkdirSync(state);
  cpSync(sample, workspace, { recursive: true });
  const program = memqCommand()
    .map((word) => `'${word}'`)
    .join(" ");
  // The process that is noted is memq itself: what it is sent passes through a copying process in front.
  writeFileSync(memq, `#!/bin/bash\necho $$ >> '${root}/pids'\nexec ${program} "$@" < <(exec tee -a '${root}/sent')\n`);
  chmodSync(memq, 0o755);
  const read = (name: string): string => (existsSync(join(root, name)) ? readFileSync(join(root, name), "utf8") : "");
  return {
    root,
    state,
    workspace,
    memq,
    pids: () => read("pids").trim().split("\n").filter(Boolean).map(Number),
    sent: () => read("sent"),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

export type Gateway = {
  tool(name: string, context?: ToolContext): Tool;
  search(params: Record<string, unknown>, context?: ToolContext): Promise<Record<string, unknown>>;
  prompt(tools: string[]): string[];
  sessionStarted(sessionKey: string): void;
  sessionUpdated(update: SessionUpdate): void;
  log: string[];
  stop(): Promise<void>;
};

/** The part of a gateway that the plug meets, after the published types: registers it and starts its service. */
export async function startGateway(
  config: Record<string, unknown>,
  place: { state: string; workspace: string },
  { service = true }: { service?: boolean } = {},
): Promise<Gateway> {
  const factories = new Map<string, (context: ToolContext) => Tool | null>();
  const services: Parameters<PluginApi["registerService"]>[0][] = [];
  const log: string[] = [];
  const listeners = new Set<(update: SessionUpdate) => void>();
  let onSession: Parameters<NonNullable<PluginApi["on"]>>[1] = () => {};
  let promptBuilder: (context: { availableTools: Set<string> }) => string[] = () => [];
  plug.register({
    registrationMode: "full",
    config: {},
    pluginConfig: config,
    logger: { info: (message) => log.push(message), warn: (message) => log.push(message) },
    runtime: {
      state: { resolveStateDir: () => place.state },
      events: {
        onSessionTranscriptUpdate(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
    },
    registerTool: (factory, { names }) => names.forEach((name) => factories.set(name, factory)),
    registerService: (registered) => services.push(registered),
    registerMemoryCapability: (capability) => (promptBuilder = (context) => capability.promptBuilder(context)),
    on: (_hook, handler) => (onSession = handler),
  });
  const start = { stateDir: place.state, workspaceDir: place.workspace };
  if (service) for (const registered of services) await registered.start(start);
  const tool = (name: string, context: ToolContext = { agentId: "main", sessionKey: "agent:main:main" }): Tool => {
    const factory = factories.get(name);
    if (factory === undefined) throw new Error(`no tool ${name}`);
    const made = factory(context);
    if (made === null) throw new Error(`${name} is not offered`);
    return made;
  };
  return {
    tool,
    async search(params, context) {
      return (await tool("memory_search", context).execute("call", params)).details as Record<string, unknown>;
    },
    prompt: (tools) => promptBuilder({ availableTools: new Set(tools) }),
    sessionStarted: (sessionKey) => onSession({ sessionKey }, { agentId: "main" }),
    sessionUpdated: (update) => listeners.forEach((listener) => listener(update)),
    log,
    async stop() {
      for (const registered of services) await registered.stop();
    },
  };
}

/** Waits until a condition holds; the test's own time limit ends a wait that is in vain. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Bun.sleep(10);
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
