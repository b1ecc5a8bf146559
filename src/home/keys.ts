import { type KeyOptions, type KeySpec, off, on, root, search } from "./key-spec.ts";
import { QMD_KEYS } from "./keys-qmd.ts";

const zeroToOne: KeyOptions = { min: 0, max: 1 };

const sources: KeySpec[] = [
  search("enabled", "boolean", "Whether the agent has a searchable memory at all.", on),
  search(
    "sources",
    "choices",
    "What is searched when a call names no corpus; `sessions` needs `experimental.sessionMemory`.",
    {
      default: ["memory"],
      values: ["memory", "sessions"],
    },
  ),
  search(
    "extraPaths",
    "paths",
    "Further files and folders to index: paths (absolute, `~` or below the workspace) or `{path, pattern}`. A pattern is a mask (`**/*.md,!drafts/**`); hidden files count too.",
    {
      default: [],
      joined: true,
    },
  ),
  search("multimodal.enabled", "boolean", "Whether images and audio below `extraPaths` are indexed too.", off),
  search("multimodal.modalities", "choices", "Which kinds of media are indexed; both unless set.", {
    values: ["image", "audio", "all"],
  }),
  search("multimodal.maxFileBytes", "integer", "Media files larger than this are skipped.", {
    default: 10_485_760,
    min: 1,
  }),
  search("experimental.sessionMemory", "boolean", "Whether session transcripts are indexed.", off),
  search("rememberAcrossConversations", "boolean", "Also switches the indexing of transcripts on.", off),
];

const embedding: KeySpec[] = [
  search(
    "provider",
    "text",
    "Where embeddings come from: `auto`, `none`, `local`, a named service or an entry of `models.providers`.",
    {
      default: "auto",
    },
  ),
  search(
    "fallback",
    "text",
    "The provider used when the first one fails: where that has embedded nothing yet, or by `memory index --force`.",
    { default: "none" },
  ),
  search("model", "text", "The embedding model; the provider's own default unless set."),
  search("outputDimensionality", "integer", "Length of the vectors, for models that offer several.", { min: 1 }),
  search("inputType", "text", "Input type sent with queries and documents alike."),
  search("queryInputType", "text", "Input type sent with queries; beats `inputType`."),
  search("documentInputType", "text", "Input type sent with documents; beats `inputType`."),
  search("remote.baseUrl", "text", "Address of the embedding service; the provider's own unless set."),
  search(
    "remote.apiKey",
    "secret",
    "Key of the embedding service: a text or `{source, provider, id}`; beats every other place keys are looked for.",
  ),
  search("remote.headers", "headers", "Further headers of each request; they beat the provider's.", { default: {} }),
  search("remote.nonBatchConcurrency", "integer", "Requests sent at once; 4 unless set (1 for ollama).", { min: 1 }),
  search("remote.batch.enabled", "boolean", "Whether large jobs go through the service's batch interface.", off),
  search("remote.batch.wait", "boolean", "Whether indexing waits for a batch job to end.", on),
  search("remote.batch.concurrency", "integer", "Batch jobs at once.", { default: 2, min: 1 }),
  search("remote.batch.pollIntervalMs", "integer", "Milliseconds between two looks at a batch job.", {
    default: 2000,
    min: 0,
  }),
  search("remote.batch.timeoutMinutes", "integer", "Minutes after which a batch job is given up.", {
    default: 60,
    min: 1,
  }),
  search("local.modelPath", "text", "The local model: a GGUF file, `hf:org/repo/file.gguf` or an https address."),
  search("local.modelCacheDir", "text", "Folder that downloaded models are kept in."),
  search("local.contextSize", "size", "Context of the local model in tokens, or `auto`.", { default: 4096 }),
  search("local.threads", "integer", "Threads of the local model; chosen from the processor unless set.", { min: 1 }),
];

const index: KeySpec[] = [
  search("store.driver", "choice", "The kind of index file.", { default: "sqlite", values: ["sqlite"] }),
  search(
    "store.path",
    "text",
    "The index file, `{agentId}` replaced; `<state folder>/memory/<agentId>.sqlite` unless set. A workspace other than the " +
      "configured one has its own, with eight more digits in its name.",
  ),
  search(
    "store.vector.enabled",
    "boolean",
    "Whether vectors are kept and searched by SQLite's vector extension; else in process, with the same answers.",
    on,
  ),
  search(
    "store.vector.extensionPath",
    "text",
    "The library of another vector extension than the one that is built in.",
  ),
  search("store.fts.tokenizer", "choice", "Accepted and without effect: words of every script are found.", {
    default: "unicode61",
    values: ["unicode61", "trigram"],
  }),
  search("chunking.tokens", "integer", "Length of a passage in tokens of four characters.", { default: 400, min: 1 }),
  search("chunking.overlap", "integer", "Tokens repeated at the start of the next passage; below `chunking.tokens`.", {
    default: 80,
    min: 0,
  }),
  search("cache.enabled", "boolean", "Whether embeddings of texts that left the index are kept.", on),
  search("cache.maxEntries", "integer", "Most embeddings kept.", { default: 50_000, min: 1 }),
];

const sync: KeySpec[] = [
  search("sync.onSessionStart", "boolean", "Whether a new session starts a sync in the background.", on),
  search("sync.onSearch", "boolean", "Whether a search starts a sync in the background when files changed.", on),
  search("sync.watch", "boolean", "Whether files are watched.", on),
  search("sync.watchDebounceMs", "integer", "Milliseconds of quiet after a change before the sync.", {
    default: 1500,
    min: 0,
  }),
  search("sync.intervalMinutes", "integer", "Minutes between syncs; 0: none.", { default: 0, min: 0 }),
  search(
    "sync.embeddingBatchTimeoutSeconds",
    "integer",
    "Seconds a group of embeddings may take; 120 (remote) or 600 (local) unless set.",
    { min: 1 },
  ),
  search("sync.sessions.deltaBytes", "integer", "Growth of a transcript, in bytes, that starts a sync.", {
    default: 100_000,
    min: 0,
  }),
  search("sync.sessions.deltaMessages", "integer", "Growth of a transcript, in lines, that starts a sync.", {
    default: 50,
    min: 0,
  }),
  search(
    "sync.sessions.postCompactionForce",
    "boolean",
    "Accepted and without effect: transcripts are synced as they grow.",
    on,
  ),
];

const query: KeySpec[] = [
  search("query.maxResults", "integer", "Passages returned when a call asks for no number.", {
    default: 6,
    min: 1,
    max: 200,
  }),
  search("query.minScore", "number", "Least score; keyword hits may fill free places below it.", {
    default: 0.35,
    ...zeroToOne,
  }),
  search(
    "query.onProviderFailure",
    "choice",
    "What a search does when a provider named here fails: say so, or answer by keywords.",
    {
      default: "unavailable",
      values: ["unavailable", "keyword"],
    },
  ),
  search("query.hybrid.enabled", "boolean", "Whether keywords and meaning are searched together.", on),
  search(
    "query.hybrid.fusion",
    "choice",
    "How both are combined: `relative` to the best of this query, or the documented `weighted` sum.",
    {
      default: "relative",
      values: ["relative", "weighted"],
    },
  ),
  search("query.hybrid.textScore", "choice", "The keyword score of `weighted`: `bm25`, or the older `legacy`.", {
    default: "bm25",
    values: ["bm25", "legacy"],
  }),
  search("query.hybrid.vectorWeight", "number", "Share of meaning; 0.5 unless set (0.7 with `weighted`).", zeroToOne),
  search("query.hybrid.textWeight", "number", "Share of keywords; 0.5 unless set (0.3 with `weighted`).", zeroToOne),
  search(
    "query.hybrid.candidateMultiplier",
    "integer",
    "Candidates per way of searching, as a multiple of the results; 200 candidates unless set.",
    { min: 1, max: 20 },
  ),
  search("query.hybrid.mmr.enabled", "boolean", "Whether near-duplicates move down.", on),
  search("query.hybrid.mmr.lambda", "number", "1 orders by relevance alone, 0 by difference alone.", {
    default: 0.7,
    ...zeroToOne,
  }),
  search(
    "query.hybrid.temporalDecay.enabled",
    "boolean",
    "true: dated notes fade by half every `halfLifeDays`; false: never; unset: newer ones are nudged ahead.",
  ),
  search(
    "query.hybrid.temporalDecay.halfLifeDays",
    "integer",
    "Days in which a dated note loses half of what it can lose.",
    { default: 30, min: 1 },
  ),
  search(
    "query.hybrid.temporalDecay.floor",
    "number",
    "Share of its score that an old note keeps; 0.97 unless set (0 with `enabled: true`).",
    zeroToOne,
  ),
  search(
    "query.hybrid.temporalDecay.undated",
    "choice",
    "Whether notes without a date never fade, or fade by modification time.",
    {
      default: "evergreen",
      values: ["evergreen", "mtime"],
    },
  ),
  search(
    "qmd.extraCollections",
    "paths",
    "Further collections of the agent when `memory.backend` is `qmd`: `{path, name?, pattern?}`; the pattern is a mask, and hidden files stay out.",
    { default: [], joined: true },
  ),
];

const surroundings: KeySpec[] = [
  root("plugins.slots.memory", "text", "`none` switches memory off.", { default: "memory-core" }),
  root("agents.defaults.userTimezone", "text", "Time zone of dates in notes and prompts; the system's unless set."),
  root("agents.defaults.contextLimits.memoryGetMaxChars", "integer", "Most characters that reading a note returns.", {
    default: 12_000,
    min: 1,
  }),
  root("agents.defaults.compaction.reserveTokensFloor", "integer", "Tokens kept free before a compaction.", {
    default: 20_000,
    min: 0,
  }),
  root(
    "agents.defaults.compaction.postIndexSync",
    "choice",
    "Accepted and without effect, as `sync.sessions.postCompactionForce`.",
    {
      default: "async",
      values: ["off", "async", "await"],
    },
  ),
  root(
    "agents.defaults.compaction.memoryFlush.enabled",
    "boolean",
    "Whether the agent is asked to write notes before a compaction.",
    on,
  ),
  root(
    "agents.defaults.compaction.memoryFlush.softThresholdTokens",
    "integer",
    "How many tokens before the reserve the flush is due.",
    { default: 4000, min: 0 },
  ),
  root(
    "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes",
    "bytes",
    "Size of a transcript that makes a flush due; 0: none.",
    { default: 2_097_152 },
  ),
  root(
    "agents.defaults.compaction.memoryFlush.prompt",
    "text",
    "The request of the flush turn; `YYYY-MM-DD` becomes today's date.",
  ),
  root("agents.defaults.compaction.memoryFlush.systemPrompt", "text", "The system prompt of the flush turn."),
  root("agents.defaults.compaction.memoryFlush.model", "text", "The model of the flush turn; for the gateway."),
  root(
    "tools.sessions.visibility",
    "choice",
    "Which transcripts a search sees: the session's own, those it spawned too, all of its agent, or also those of other agents that it may ask.",
    {
      default: "all",
      values: ["self", "tree", "agent", "all"],
    },
  ),
  root("tools.agentToAgent.enabled", "boolean", "Whether one agent may search another's memory.", off),
  root("tools.agentToAgent.allow", "texts", "Agents that may take part; `*` stands for any run of characters.", {
    default: [],
  }),
];

/** Groups of the table in the order of the reference. */
export const KEY_GROUPS: readonly { title: string; keys: readonly KeySpec[] }[] = [
  { title: "What is indexed", keys: sources },
  { title: "Embeddings", keys: embedding },
  { title: "Index", keys: index },
  { title: "Keeping up to date", keys: sync },
  { title: "Searching", keys: query },
  { title: "Memory as a whole, and the qmd backend", keys: QMD_KEYS },
  { title: "Settings elsewhere that memory reads", keys: surroundings },
];

/** Every configuration key that memory reads: validation, resolution, the reference and `status --deep` come from this table. */
export const KEYS: readonly KeySpec[] = KEY_GROUPS.flatMap((group) => group.keys);
