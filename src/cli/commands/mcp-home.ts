import { dirname, join } from "node:path";
import { usageError } from "../../errors.ts";
import type { DaemonFiles } from "../../gateway/mcp/daemon.ts";
import type { McpSurface } from "../../gateway/mcp/surface.ts";
import { absolutePath } from "../../home/paths.ts";
import type { QmdPlaces } from "../../home/qmd-home.ts";
import type { Invocation } from "../parse.ts";
import { flag, number, value, values } from "../parse.ts";
import { qmdHomeOf } from "../qmd/home.ts";
import { memoryPlace } from "./memory-options.ts";

/** What is served: the memory of an agent where one is named, else the notes of a qmd home. */
export async function surfaceOf(invocation: Invocation): Promise<McpSurface> {
  if (!namesAgent(invocation)) {
    const { notesSurface } = await import("../../gateway/mcp/notes-surface.ts");
    return notesSurface({
      program: invocation.program,
      index: value(invocation, "index"),
      collections: values(invocation, "collection"),
      deadlineMs: number(invocation, "deadline"),
    });
  }
  const [{ memorySurface }, { openMemoryService }] = await Promise.all([
    import("../../gateway/mcp/memory-tools.ts"),
    import("../../memory/service.ts"),
  ]);
  const log = (sentence: string): void => console.error(sentence);
  const service = openMemoryService(memoryPlace(invocation), { live: true, watch: true, log });
  // The first sync begins now, and what is wrong is said when somebody asks.
  service.engine().catch(() => {});
  return memorySurface(service, { allowWrite: flag(invocation, "allow-write") });
}

/** Where the server in the background of this home is known, and what its child must be told of the home. */
export async function daemonPlace(
  invocation: Invocation,
): Promise<{ files: DaemonFiles; env: Record<string, string> }> {
  if (namesAgent(invocation)) {
    const { resolveAgentHome } = await import("../../home/agent-home.ts");
    const { home } = await resolveAgentHome({ ...memoryPlace(invocation), env: process.env, cwd: process.cwd() });
    const base = home.indexPath.replace(/\.sqlite$/, "");
    return { files: { pidFile: `${base}.mcp.pid`, logFile: `${base}.mcp.log` }, env: {} };
  }
  const { places } = await qmdHomeOf(invocation);
  return { files: notesDaemonFiles(places), env: { INDEX_PATH: places.indexPath } };
}

/** The command that stops the server in the background of this home, from any folder. */
export function stopCommand({ options, program }: Invocation): string {
  const words = HOME_OPTIONS.flatMap(([name, isPath]) => {
    const given = options.get(name)?.at(-1);
    if (given === undefined) return [];
    return [`--${name}`, shellWord(isPath ? absolutePath(given, process.cwd(), process.env) : given)];
  });
  return [program, "mcp", "stop", ...words].join(" ");
}

/** The options that choose a home, and whether their value is a path. */
const HOME_OPTIONS: readonly [name: string, isPath: boolean][] = [
  ["agent", false],
  ["workspace", true],
  ["state-dir", true],
  ["config", true],
  ["index", false],
];

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The folders in which servers in the background are known: that of the home asked for, and of those that are chosen without options. */
export async function daemonFolders(invocation: Invocation): Promise<string[]> {
  const { files } = await daemonPlace(invocation);
  const { stateFolder } = await import("../../home/state-dir.ts");
  const { qmdPlaces } = await import("../../home/qmd-home.ts");
  const [env, cwd] = [process.env, process.cwd()];
  const agents = join(stateFolder(value(invocation, "state-dir"), env, cwd), "memory");
  return [...new Set([dirname(files.pidFile), agents, qmdPlaces({ env, cwd }).cacheDir])];
}

/** Where qmd, too, keeps what it knows of the server of an index. */
export function notesDaemonFiles({ cacheDir, indexName }: Pick<QmdPlaces, "cacheDir" | "indexName">): DaemonFiles {
  const base = join(cacheDir, indexName === "index" ? "mcp" : `mcp-${indexName}`);
  return { pidFile: `${base}.pid`, logFile: `${base}.log` };
}

/** Whether the options name the memory of an agent. Throws a usage error where those of both kinds of home are mixed. */
function namesAgent({ options }: Invocation): boolean {
  const given = (names: string[]): string | undefined => names.find((name) => options.has(name));
  const agent = given(["agent", "workspace", "state-dir", "config"]);
  const notes = given(["index", "collection"]);
  if (agent !== undefined && notes !== undefined) {
    throw usageError(
      `--${agent} means the memory of an agent, --${notes} the notes of a qmd home`,
      "Give one of them.",
    );
  }
  if (agent === undefined && options.has("allow-write")) {
    throw usageError("--allow-write is for the memory of an agent", "Name one with --agent or --workspace.");
  }
  return agent !== undefined;
}
