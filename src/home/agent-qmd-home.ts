import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { AgentHome } from "./agent-home.ts";
import { bindCollection } from "./index-yml-edit.ts";
import { DEFAULT_PATTERN, emptyQmdConfig, type QmdCollectionConfig, readQmdConfig } from "./index-yml.ts";
import { isExclusion, patternList } from "./mask.ts";
import { absolutePath, escapedGlob, isInside, realPath, xdgFolder, type Env } from "./paths.ts";
import { qmdCollection, qmdHomeAt, type QmdHome, type QmdPlaces } from "./qmd-home.ts";
import { stripped } from "./stripped.ts";
import { openTrust } from "./trust.ts";
import type { Collection, ExtraPath } from "./types.ts";

/**
 * The qmd home that serves an agent with `memory.backend: "qmd"`: `<state>/agents/<id>/qmd/` with the agent's notes, its
 * further paths and, when exported, its transcripts as collections. Nothing is written.
 */
export async function agentQmdHome(agent: AgentHome, cwd: string): Promise<QmdHome> {
  const { memory, env } = agent;
  const workspace = agent.home.workspace ?? cwd;
  const places = agentQmdPlaces(agent.home.stateDir ?? cwd, memory.agentId, env);
  const read = await readQmdConfig(places.configPath);
  const resolved = qmdHomeAt(places, read, openTrust(), { env, cwd });
  const { managed, problem } = managedCollections(agent, workspace);
  const ignores = new Map((read?.collections ?? []).map((one) => [one.name, one.ignore]));
  return {
    ...resolved,
    home: {
      ...resolved.home,
      agentId: memory.agentId,
      ...(agent.home.stateDir === undefined ? {} : { stateDir: agent.home.stateDir }),
      workspace,
      collections: managed.map((one) => {
        const apart = one.source === "sessions" ? notExported(one, managed) : exportedBelow(one, memory.qmd.sessions);
        const ignore = [...(ignores.get(one.name) ?? []), ...apart];
        return agentCollection(one, ignore, workspace);
      }),
      search: {
        ...resolved.home.search,
        maxResults: memory.qmd.limits.maxResults,
        snippetChars: memory.qmd.limits.maxSnippetChars,
        grammar: "plain",
      },
      issues: problem === null ? agent.home.issues : [...agent.home.issues, problem],
    },
  };
}

/** Writes the agent's collections to its `index.yml`, so that `qmd` finds the same home by its XDG folders; true when it changed. */
export async function writeAgentQmdConfig(home: QmdHome): Promise<boolean> {
  const { configPath } = home.places;
  // As it is now: this process may live for days, and others change the file meanwhile.
  const { collections } = (await readQmdConfig(configPath)) ?? emptyQmdConfig();
  let changed = false;
  for (const { name, root, patterns } of home.home.collections) {
    const wanted = { name, path: root, pattern: patterns.join(",") };
    const existing = collections.find((collection) => collection.name === name);
    if (existing?.path === wanted.path && existing.pattern === wanted.pattern) continue;
    await bindCollection(configPath, wanted);
    changed = true;
  }
  return changed;
}

/** Files and folders of an agent's qmd home; older gateways kept `index.yml` one folder higher. */
function agentQmdPlaces(stateDir: string, agentId: string, env: Env): QmdPlaces {
  const root = join(stateDir, "agents", agentId, "qmd");
  const folders = [join(root, "xdg-config", "qmd"), join(root, "xdg-config")];
  const configDir = folders.find((folder) => existsSync(join(folder, "index.yml"))) ?? join(root, "xdg-config", "qmd");
  const cacheDir = join(root, "xdg-cache", "qmd");
  const ownModels = join(cacheDir, "models");
  return {
    indexName: "index",
    configDir,
    configPath: join(configDir, "index.yml"),
    cacheDir,
    indexPath: join(cacheDir, "index.sqlite"),
    modelsDir: existsSync(ownModels) ? ownModels : join(xdgFolder(env, "XDG_CACHE_HOME", ".cache"), "qmd", "models"),
    trustFile: join(configDir, "trusted.json"),
  };
}

/** A collection with an absolute path, and what it is to the memory surface. */
type ManagedCollection = QmdCollectionConfig & Pick<Collection, "optional"> & { source: "memory" | "sessions" };

/** The agent's collections; `problem` says why its transcripts are none of them where they should be. */
function managedCollections(
  agent: AgentHome,
  workspace: string,
): { managed: ManagedCollection[]; problem: string | null } {
  const { agentId, qmd } = agent.memory;
  const taken = new Set<string>();
  const managed: ManagedCollection[] = [];
  const add = (
    wanted: string,
    path: string,
    pattern: string,
    source: "memory" | "sessions",
    own: Pick<Collection, "optional"> = {},
  ): void => {
    if (managed.some((one) => one.path === path && one.pattern === pattern)) return;
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted}-${n}`;
    taken.add(name);
    managed.push({ name, path, pattern, ignore: [], context: {}, includeByDefault: true, source, ...own });
  };
  if (qmd.includeDefaultMemory) {
    add(`memory-root-${agentId}`, workspace, "MEMORY.md", "memory");
    // A new agent has no notes yet.
    add(`memory-dir-${agentId}`, join(workspace, "memory"), DEFAULT_PATTERN, "memory", { optional: true });
  }
  qmd.paths.forEach((extra, at) => {
    const place = extraPlace(extra, workspace, agent.env);
    add(extraName(extra, at, place.path, workspace, agentId), place.path, place.pattern, "memory");
  });
  if (!qmd.sessions.enabled) return { managed, problem: null };
  const { exportDir, exportRoot } = qmd.sessions;
  const notes = managed.find(
    ({ path, pattern }) =>
      [exportDir, exportRoot].some((folder) => isSamePlace(path, folder)) && !patternList(pattern).every(isFileName),
  );
  if (notes !== undefined) {
    // What lies there can't be told from notes, which everybody may see.
    const problem = `memory.qmd.sessions.exportDir is ${notes.path}, whose notes are the collection ${notes.name}: transcripts are not exported. Name another folder, which may lie in it.`;
    return { managed, problem };
  }
  add(`sessions-${agentId}`, exportDir, DEFAULT_PATTERN, "sessions");
  return { managed, problem: null };
}

function isSamePlace(one: string, other: string): boolean {
  return one === other || realPath(one) === realPath(other);
}

/** Whether a pattern takes one file alone. */
function isFileName(pattern: string): boolean {
  return !/[*?[\]{}()!+@]/.test(pattern.replace(/\\./g, ""));
}

function extraPlace(extra: ExtraPath, workspace: string, env: Env): { path: string; pattern: string } {
  const path = absolutePath(extra.path, workspace, env);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  // A comma would end the pattern, and no escape is known to every reader of index.yml.
  if (isFile) return { path: dirname(path), pattern: escapedGlob(basename(path)).replaceAll(",", "?") };
  return { path, pattern: extra.pattern ?? DEFAULT_PATTERN };
}

/** An explicit name stays when the path lies outside the workspace; every other carries the agent's id. */
function extraName(extra: ExtraPath, at: number, path: string, workspace: string, agentId: string): string {
  const words = stripped((extra.name ?? "").toLowerCase().replace(/[^a-z0-9-]+/g, "-"), "-");
  if (words === "") return `custom-${at + 1}-${agentId}`;
  return isInside(path, workspace) ? withAgent(words, agentId) : words;
}

function withAgent(name: string, agentId: string): string {
  return name.endsWith(`-${agentId}`) ? name : `${name}-${agentId}`;
}

/** Transcripts that are exported into a folder of notes are no notes: they keep to who may see transcripts. */
function exportedBelow({ path }: ManagedCollection, { exportRoot }: { exportRoot: string }): string[] {
  const way = relative(path, exportRoot);
  return way === "" || !isInside(exportRoot, path) ? [] : [`${escapedWay(way)}/**`];
}

/** What lies below the folder of exported transcripts is another agent's, or a collection of notes. */
function notExported(exported: ManagedCollection, managed: readonly ManagedCollection[]): string[] {
  return ["*/**", ...notesBelow(exported, managed)];
}

/** Notes in or below the folder that transcripts are exported to are no transcripts, and are indexed once. */
function notesBelow({ path }: ManagedCollection, managed: readonly ManagedCollection[]): string[] {
  return managed
    .filter((one) => one.source === "memory" && isInside(one.path, path))
    .flatMap((one) => {
      const way = relative(path, one.path);
      const patterns = patternList(one.pattern)
        .filter((pattern) => !isExclusion(pattern))
        .map((pattern) => pattern.replace(/^\.\//, ""));
      return way === "" ? patterns : patterns.map((pattern) => `${escapedWay(way)}/${pattern}`);
    });
}

function escapedWay(way: string): string {
  return way.split("/").map(escapedGlob).join("/");
}

function agentCollection(managed: ManagedCollection, ignore: string[], workspace: string): Collection {
  const collection = qmdCollection({ ...managed, ignore }, managed.path);
  return {
    ...collection,
    source: managed.source,
    pathPrefix: prefixOf(managed, workspace),
    ...(managed.optional ? { optional: true } : {}),
  };
}

function prefixOf(collection: ManagedCollection, workspace: string): string {
  if (!isInside(collection.path, workspace)) return `qmd/${collection.name}/`;
  const way = relative(workspace, collection.path);
  return way === "" ? "" : `${way}/`;
}
