import * as v from "valibot";
import { nearestName } from "../edit-distance.ts";
import { usageError } from "../errors.ts";
import { appendInTurn } from "../memory/append-turns.ts";
import type { MemoryEngine } from "../memory/engine.ts";
import { isRealDate } from "../memory/dates.ts";
import { indexAnswer } from "../memory/engine.ts";
import type { MemoryPlace } from "../memory/service.ts";
import { readingDisabled } from "../memory/unavailable.ts";
import { isObject, type JsonObject } from "../json.ts";
import { VERSION } from "../version.ts";
import type { SyncProgress } from "../sync/report.ts";
import type { Call } from "./jsonrpc.ts";

/** What methods work with: the agents served, and a way to speak without being asked. */
export type Session = {
  /** The engine of an agent; without an id, of the one that `initialize` named. */
  engine(agentId?: string): Promise<MemoryEngine>;
  open(place: MemoryPlace, options: { watch: boolean }): Promise<MemoryEngine>;
  notify(method: keyof typeof NOTIFICATIONS, params: unknown): void;
  /** Ends the process once the answers are out. */
  end(): void;
  cancel(id: unknown): void;
};

/** What is sent without being asked, with its parameters. */
export const NOTIFICATIONS = {
  "memory.progress": {
    summary: "While `memory.index` runs, about ten times a second",
    params: "`phase` (`scan`, `read`, `write`, `embed`), `done`, `total`, `waiting?` (a sentence)",
  },
  "memory.changed": {
    summary: "A sync in the background took up what had changed on disk",
    params: "`agentId`, `added`, `changed`, `removed` (files)",
  },
} as const;

export type Method = {
  /** What it does and what its answer holds, in Markdown, for the README. */
  summary: string;
  answer: string;
  params: v.GenericSchema<Record<string, unknown>>;
  /** Answered before `initialize` too. */
  always: boolean;
  run(params: never, session: Session, call: Call): unknown;
};

function method<S extends v.GenericSchema<Record<string, unknown>>>(
  words: Pick<Method, "summary" | "answer">,
  params: S,
  run: (params: v.InferOutput<S>, session: Session, call: Call) => unknown,
  options: { always?: boolean } = {},
): Method {
  return { ...words, params, always: options.always ?? false, run };
}

const text = (): v.GenericSchema<string> => v.string("must be a string");
const flag = (): v.GenericSchema<boolean> => v.boolean("must be true or false");
const object = (): v.GenericSchema<JsonObject> => v.custom<JsonObject>(isObject, "must be an object");

function whole(min: number, max?: number): v.GenericSchema<number> {
  const sentence = `must be a whole number ${max === undefined ? `of at least ${min}` : `from ${min} to ${max}`}`;
  return v.pipe(
    v.number(sentence),
    v.safeInteger(sentence),
    v.minValue(min, sentence),
    v.maxValue(max ?? Number.MAX_SAFE_INTEGER, sentence),
  );
}

function between(min: number, max: number): v.GenericSchema<number> {
  const sentence = `must be a number from ${min} to ${max}`;
  return v.pipe(v.number(sentence), v.minValue(min, sentence), v.maxValue(max, sentence));
}

function oneOf<const T extends readonly string[]>(...choices: T): v.GenericSchema<T[number]> {
  return v.picklist(choices, `must be one of: ${choices.join(", ")}`);
}

/** A moment: a date or a time stamp as text, or milliseconds since 1970. */
const moment = (): v.GenericSchema<string | number> => {
  const sentence = "must be a date, a time stamp or milliseconds since 1970";
  return v.union([v.string(), v.pipe(v.number(), v.finite())], sentence);
};

const agentId = v.optional(text());

const NOTHING = "nothing";

/** The methods of `memq rpc`; a new one is one entry. Parameters are checked before `run` sees them. */
export const METHODS: Readonly<Record<string, Method>> = {
  initialize: method(
    {
      summary:
        "Opens an agent's memory, once and first. `watch: false` looks for changes now and then instead of watching",
      answer: "`protocolVersion`, `serverInfo`, `capabilities`, `status`",
    },
    v.strictObject({
      agentId,
      workspace: v.optional(text()),
      stateDir: v.optional(text()),
      configPath: v.optional(text()),
      config: v.optional(object()),
      clientInfo: v.optional(object()),
      watch: v.optional(flag(), true),
    }),
    async ({ watch, agentId, workspace, stateDir, configPath, config }, session) => {
      const place = { agentId, workspace, stateDir, configPath, config };
      const engine = await session.open(place, { watch });
      return {
        protocolVersion: 1,
        serverInfo: { name: "memq", version: VERSION },
        capabilities: { watch: engine.watching, methods: Object.keys(METHODS) },
        status: await engine.status({ deep: false }),
      };
    },
    { always: true },
  ),

  "memory.search": method(
    {
      summary: "Finds passages. At `deadlineMs` it answers with what it has by then",
      answer:
        "`results` (each with `path`, `startLine`, `endLine`, `score`, `vectorScore?`, `textScore?`, `snippet`, `source`, `citation?`, `importance?`, `triggers?`, `explain?`), `provider`, `model?`, `fallback?`, `citations`, `mode`, `degraded?`, `warning?`, `debug?`",
    },
    v.strictObject({
      agentId,
      query: text(),
      maxResults: v.optional(whole(1, 200)),
      minScore: v.optional(between(0, 1)),
      corpus: v.optional(oneOf("memory", "sessions", "all")),
      sessionKey: v.optional(text()),
      chatType: v.optional(text()),
      deadlineMs: v.optional(whole(1, 600_000)),
      since: v.optional(text()),
      until: v.optional(text()),
      tags: v.optional(v.array(text(), "must be a list of strings")),
      asOf: v.optional(moment()),
      explain: v.optional(flag()),
    }),
    async ({ agentId, ...request }, session) => (await session.engine(agentId)).search(request),
  ),

  "memory.get": method(
    {
      summary: "Reads a note or some of its lines",
      answer:
        "`text`, `path`, and of a part `from`, `lines`, `truncated`, `nextFrom`; of what may not be read `disabled`, `error`, `code`",
    },
    v.strictObject({ agentId, path: text(), from: v.optional(whole(1)), lines: v.optional(whole(1)) }),
    async ({ agentId, ...request }, session) => {
      const engine = await session.engine(agentId);
      return readingDisabled(engine.agent.memory, request.path) ?? engine.get(request);
    },
  ),

  "memory.index": method(
    {
      summary: "Brings the index up to date",
      answer: "`files`, `passages`, `added`, `changed`, `removed`, `embedded`, `ms`",
    },
    v.strictObject({ agentId, force: v.optional(flag(), false) }),
    async ({ agentId, force }, session, { signal }) => {
      const engine = await session.engine(agentId);
      const onProgress = throttled((progress) => session.notify("memory.progress", progress));
      return indexAnswer(await engine.index({ force, onProgress, signal }));
    },
  ),

  "memory.status": method(
    {
      summary: "What is indexed, by whom it is embedded, and what is wrong",
      answer: "as `memq memory status --json`, of one agent",
    },
    v.strictObject({ agentId, deep: v.optional(flag(), false) }),
    async ({ agentId, deep }, session) => (await session.engine(agentId)).status({ deep }),
  ),

  "memory.recall": method(
    {
      summary: "Entries whose triggers the message calls up",
      answer: "`entries` (each with `text`, `path`, `startLine`, `matchScore`), `context`, `warning?`",
    },
    v.strictObject({
      agentId,
      message: text(),
      sessionKey: v.optional(text()),
      chatType: v.optional(text()),
      maxEntries: v.optional(whole(1, 20)),
      projectKeys: v.optional(v.array(text(), "must be a list of strings")),
    }),
    async ({ agentId, ...request }, session) => {
      const engine = await session.engine(agentId);
      const { recallForMessage } = await import("../memory/recall-message.ts");
      return recallForMessage(engine.agent, request);
    },
  ),

  "memory.context": method(
    {
      summary: "What the agent reads at session start",
      answer: "`files` (each with `path`, `text`, `truncated`), `warning?`",
    },
    v.strictObject({ agentId, sessionKey: v.optional(text()), chatType: v.optional(text()) }),
    async ({ agentId, ...request }, session) => {
      const { contextForSession } = await import("../memory/context.ts");
      return contextForSession((await session.engine(agentId)).agent, request);
    },
  ),

  "memory.append": method(
    { summary: "Appends to a note; it is indexed soon after", answer: "`path`, `startLine`, `endLine`" },
    v.strictObject({
      agentId,
      text: text(),
      target: v.optional(oneOf("daily", "long-term"), "daily"),
      date: v.optional(v.pipe(text(), v.check(isRealDate, "must be a date, YYYY-MM-DD"))),
    }),
    async ({ agentId, ...request }, session, { signal }) => {
      const engine = await session.engine(agentId);
      const appended = await appendInTurn(engine.agent, request, signal);
      engine.appended();
      return appended;
    },
  ),

  "memory.flush": method(
    {
      summary: "Whether the session should write down its memories before it is compacted",
      answer: "`due`, `reason`, `prompt?`, `systemPrompt?`, `path?`",
    },
    v.strictObject({
      agentId,
      sessionKey: text(),
      contextTokens: whole(0),
      contextWindow: whole(0),
      compactionCount: whole(0),
      transcriptBytes: v.optional(whole(0)),
      workspaceAccess: v.optional(oneOf("rw", "ro", "none")),
    }),
    async ({ agentId, ...request }, session) => {
      const engine = await session.engine(agentId);
      const { checkFlush } = await import("../memory/flush-check.ts");
      return engine.withIndex((index) => checkFlush(engine.agent, index, request));
    },
  ),

  "memory.flushed": method(
    { summary: "The flush of this compaction cycle is done", answer: NOTHING },
    v.strictObject({ agentId, sessionKey: text(), compactionCount: whole(0) }),
    async ({ agentId, ...request }, session) => {
      const engine = await session.engine(agentId);
      const { recordFlush } = await import("../memory/flush-check.ts");
      await recordFlush(engine.agent, request);
      return {};
    },
  ),

  "session.started": method(
    { summary: "A session begins; also as a notification", answer: NOTHING },
    v.strictObject({ agentId, sessionKey: text(), sessionFile: v.optional(text()) }),
    async ({ agentId }, session) => (await session.engine(agentId)).sessionStarted(),
  ),

  "session.updated": method(
    { summary: "The transcript of a session has grown; also as a notification", answer: NOTHING },
    v.strictObject({ agentId, sessionKey: text(), sessionFile: v.optional(text()) }),
    async ({ agentId, sessionKey, sessionFile }, session) =>
      (await session.engine(agentId)).sessionUpdated(sessionKey, sessionFile),
  ),

  ping: method(
    { summary: "Answers at once, before `initialize` too", answer: NOTHING },
    v.strictObject({}),
    () => ({}),
    { always: true },
  ),

  shutdown: method(
    {
      summary:
        "Answers at once, and ends the process as the end of input does: what was asked before has half a second and is then answered by error −32800, what comes later is refused",
      answer: NOTHING,
    },
    v.strictObject({}),
    (_params, session) => session.end(),
    { always: true },
  ),

  "$/cancelRequest": method(
    {
      summary: "A notification: gives up a request that runs or waits, which is then answered by error −32800",
      answer: NOTHING,
    },
    v.strictObject({ id: v.union([v.string(), v.number(), v.null()], "must be the id of a request") }),
    ({ id }, session) => session.cancel(id),
    { always: true },
  ),
};

/** Passes on each change of phase and each end of one, and of the rest about ten a second. */
function throttled(pass: (progress: SyncProgress) => void): (progress: SyncProgress) => void {
  let last = { phase: "", at: 0 };
  return (progress) => {
    const now = performance.now();
    const isMore = progress.phase === last.phase && progress.done < progress.total && progress.waiting === undefined;
    if (isMore && now - last.at < 100) return;
    last = { phase: progress.phase, at: now };
    pass(progress);
  };
}

/** What to add to the refusal of a name: the one that was meant, if any is like it. */
export function meantInstead(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? "" : `: did you mean '${nearest}'?`;
}

/** The parameters as `run` takes them; throws a sentence that names the parameter at fault. */
export function checkedParams(method: Method, params: Record<string, unknown>): never {
  const result = v.safeParse(method.params, params, { abortEarly: true });
  if (result.success) return result.output as never;
  const [issue] = result.issues;
  const name = v.getDotPath(issue) ?? "";
  if (issue.type === "strict_object" && issue.expected === "never") {
    const known = "entries" in method.params && isObject(method.params.entries) ? method.params.entries : {};
    throw usageError(`unknown parameter '${name}'${meantInstead(name, Object.keys(known))}`);
  }
  if (issue.type === "strict_object") throw usageError(`parameter '${name}' is missing`);
  throw usageError(`parameter '${name}' ${issue.message}`);
}
