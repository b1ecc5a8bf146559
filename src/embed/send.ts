import { packed, pooled, type Item } from "./batches.ts";
import { withTimeLimit, type Clock } from "./clock.ts";
import { urlOf } from "./connection.ts";
import { EmbedError, embedErrorOf } from "./errors.ts";
import { malformed, type ExchangeContext } from "./exchange.ts";
import { createFirstAnswer, type FirstAnswer, isAnswer } from "./first-answer.ts";
import { guardedFetch } from "./http.ts";
import type { Protocol, Purpose } from "./protocol.ts";
import { bareHost, isPrivateHost } from "./hosts.ts";
import type { EmbedInput } from "./types.ts";
import { checkedVectors, normalised } from "./vectors.ts";
import { createWaiting, type Tell, type Waiting } from "./waiting.ts";

/** How often and how patiently one request is tried. Times are milliseconds; `attempts` counts the first one too. */
export type Patience = {
  attemptMs: number;
  totalMs: number;
  /** For the first answer to documents, one text alone, tries again included; without it the first is waited for like any other. */
  firstAnswerMs?: number | undefined;
  /** The same for a server that is there and may be loading its model. */
  loadMs?: number | undefined;
  rate: { attempts: number; baseMs: number; capMs: number };
  transient: { attempts: number; baseMs: number; capMs: number };
};

/** For people who wait for an answer: at most about eight seconds of pauses. */
export function queryPatience(slow: boolean): Patience {
  const attemptMs = slow ? 300_000 : 60_000;
  const pauses = { attempts: 3, baseMs: 500, capMs: 4_000 };
  return { attemptMs, totalMs: attemptMs, rate: pauses, transient: pauses };
}

/** A server on a slow machine embeds one passage within it, and the whole command still ends within a quarter of a minute. */
const FIRST_ANSWER_MS = 11_500;
/** Eight gigabytes of a model from a slow disk. */
const LOAD_MS = 90_000;

/** For indexing: a rate limit is waited out. Who sets a time-out has said how long a server may be silent. */
export function documentPatience(slow: boolean, batchTimeoutMs: number | undefined): Patience {
  const attemptMs = batchTimeoutMs ?? (slow ? 600_000 : 120_000);
  return {
    attemptMs,
    totalMs: attemptMs * 3,
    firstAnswerMs: batchTimeoutMs === undefined ? FIRST_ANSWER_MS : undefined,
    loadMs: LOAD_MS,
    rate: { attempts: 5, baseMs: 5_000, capMs: 60_000 },
    transient: { attempts: 3, baseMs: 500, capMs: 8_000 },
  };
}

/** Sends inputs through one protocol and remembers what it learned about the server: its real item cap and vector length. */
export type Sender = {
  query: (text: string, signal: AbortSignal) => Promise<Float32Array>;
  /** Calls back per finished request; `onRejected` gets the inputs that the server refuses by themselves. */
  documents: (items: readonly Item[], width: number, signal: AbortSignal, report: SendReport) => Promise<void>;
};

export type SendReport = {
  onVectors(items: readonly Item[], vectors: Float32Array[]): void | Promise<void>;
  onRejected(item: Item, error: EmbedError): void;
  onWait?: Tell | undefined;
};

/** What a sender goes by, and what it has learned. */
type Sending = {
  protocol: Protocol;
  patience: Record<Purpose, Patience>;
  context: ExchangeContext;
  /** How the server is called in a sentence. */
  server: string;
  firstAnswer: FirstAnswer;
  waiting: Waiting;
  /** Most inputs of one request. */
  itemCap: number;
  /** Of vectors, once known. */
  length: number | undefined;
  /** A rate limit holds for all documents under way, not only for those that met it. A question tries its own luck. */
  gates: Record<Purpose, { until: number }>;
};

/**
 * The sender of one provider. A batch that is refused, or answered with nonsense, is halved until the one bad input stands
 * alone; whether it is to blame is decided by a harmless text, since a server may refuse everything.
 */
export function createSender(
  protocol: Protocol,
  patience: Record<Purpose, Patience>,
  context: ExchangeContext,
): Sender {
  const server = serverName(protocol);
  const isAlive = lifeSignOf(protocol, context);
  const firstAnswer = createFirstAnswer({
    ms: patience.document.firstAnswerMs,
    loadMs: patience.document.loadMs ?? LOAD_MS,
    server,
    model: protocol.model,
    isAlive,
  });
  const gates = { query: { until: 0 }, document: { until: 0 } };
  const waiting = createWaiting({
    first: `${server} to embed a first text with ${protocol.model}${isAlive ? ", which it may have to load" : ""}`,
    later: server,
    pause: () => gates.document.until - context.clock.now(),
  });
  const sending: Sending = {
    protocol,
    patience,
    context,
    server,
    firstAnswer,
    waiting,
    itemCap: protocol.maxItems,
    length: protocol.dimensions ?? undefined,
    gates,
  };

  return {
    query: async (text, signal) => (await request(sending, [{ text }], "query", signal))[0] ?? new Float32Array(0),
    documents: (items, width, signal, report) =>
      waiting.during(report.onWait, () => sendDocuments(sending, items, width, signal, report)),
  };
}

async function sendDocuments(
  sending: Sending,
  items: readonly Item[],
  width: number,
  signal: AbortSignal,
  report: SendReport,
): Promise<void> {
  const { firstAnswer, itemCap } = sending;
  // One text alone: a whole request takes a slow server longer than a silent one may be waited for, as sending a picture does.
  const first = firstAnswer.heard() ? undefined : items.find(({ input }) => !input.media);
  if (first !== undefined) await firstAnswer.within(signal, (limited) => sendBatch(sending, [first], limited, report));
  const others = first === undefined ? items : items.filter((item) => item !== first);
  await pooled(packed(others, itemCap), width, async (batch) => {
    await sendBatch(sending, batch, signal, report);
  });
}

/** Resolves to whether every item got its vector. */
async function sendBatch(
  sending: Sending,
  batch: readonly Item[],
  signal: AbortSignal,
  report: SendReport,
): Promise<boolean> {
  if (batch.length > sending.itemCap) return sendParts(sending, batch, sending.itemCap, signal, report);
  const inputs = batch.map((item) => item.input);
  const made = await request(sending, inputs, "document", signal).catch(embedErrorOf);
  if (!(made instanceof EmbedError)) {
    await report.onVectors(batch, made);
    return true;
  }
  if (!maybeOneInput(made)) throw made;
  if (batch.length === 1) {
    // Is it this text, or would the server refuse any? A harmless text tells.
    await request(sending, [{ text: "memory" }], "document", signal).catch(() => {
      throw new EmbedError("fatal", made.message, { hint: made.hint });
    });
    report.onRejected(batch[0] as Item, new EmbedError("refused", made.message));
    return false;
  }
  const half = Math.ceil(batch.length / 2);
  const whole = await sendParts(sending, batch, half, signal, report);
  // Both halves went through: it was the number of items (or their sum) that was refused.
  if (whole && made.kind === "refused") sending.itemCap = Math.min(sending.itemCap, half);
  return whole;
}

async function sendParts(
  sending: Sending,
  batch: readonly Item[],
  size: number,
  signal: AbortSignal,
  report: SendReport,
): Promise<boolean> {
  let whole = true;
  for (let from = 0; from < batch.length; from += size) {
    whole = (await sendBatch(sending, batch.slice(from, from + size), signal, report)) && whole;
  }
  return whole;
}

/** The vectors of inputs, however often they have to be asked for. */
function request(
  sending: Sending,
  inputs: readonly EmbedInput[],
  purpose: Purpose,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { patience, context, gates, server } = sending;
  return withRetries(
    (limited) => attempt(sending, inputs, purpose, limited),
    patience[purpose],
    purpose,
    context.clock,
    gates[purpose],
    signal,
  ).catch((error: unknown) => {
    if (!(error instanceof EmbedError) || error.kind !== "timeout" || signal.aborted) throw error;
    throw new EmbedError("timeout", `${error.message}: ${server} gives no answer.`);
  });
}

async function attempt(
  sending: Sending,
  inputs: readonly EmbedInput[],
  purpose: Purpose,
  signal: AbortSignal,
): Promise<Float32Array[]> {
  const { protocol, context, firstAnswer, waiting } = sending;
  const raw = await firstAnswer.listen(protocol.embed(inputs, purpose, signal, context)).catch((error: unknown) => {
    if (isAnswer(error)) waiting.heard();
    throw error;
  });
  waiting.heard();
  const vectors = checkedVectors(raw, inputs.length, sending.length);
  if (typeof vectors === "string") throw malformed(protocol, vectors);
  sending.length ??= vectors[0]?.length;
  return protocol.normalise ? vectors.map(normalised) : vectors;
}

/** The server's address without a path, which may hold a key. */
function serverName({ id, endpoint }: Protocol): string {
  return URL.canParse(endpoint) ? new URL(endpoint).origin : id;
}

type LifeSign = (signal: AbortSignal) => Promise<boolean>;

/**
 * Asks a server that may load its model when it is first asked for, and that answers everything else meanwhile: one for a desk
 * says anything at all, another one in a private network lists its models. A service of the internet loads nothing.
 */
function lifeSignOf({ slow, endpoint }: Protocol, { http }: ExchangeContext): LifeSign | undefined {
  const status = async (url: string, signal: AbortSignal): Promise<number> => {
    const response = await guardedFetch({ method: "GET", url, headers: {}, signal, secrets: [] }, http);
    await response.body?.cancel();
    return response.status;
  };
  if (slow) return (signal) => status(endpoint, signal).then(() => true);
  if (!URL.canParse(endpoint) || !isNearby(new URL(endpoint).hostname)) return undefined;
  // The key stays behind: that one is wanted is an answer too.
  return async (signal) => [200, 401].includes(await status(urlOf(endpoint, "/models"), signal));
}

/** Of this machine or a private network, where alone a name without a dot is known. */
function isNearby(hostname: string): boolean {
  return isPrivateHost(hostname) || !/[.:]/.test(bareHost(hostname));
}

/** Whether one input of several may be to blame: a refusal, a reply that makes no sense, a server that fell over it. */
function maybeOneInput(error: EmbedError): boolean {
  if (error.kind === "refused" || error.kind === "malformed") return true;
  return error.kind === "transient" && (error.status === 500 || /closed the connection/.test(error.message));
}

/**
 * Tries `attempt` until it succeeds, the error is one that does not pass, or patience ends. Pauses are a random part of a
 * doubling base ("full jitter"), or what the server asks for and a little more. An error answer stays an error when time
 * runs out meanwhile; no answer at all is `timeout`.
 */
export async function withRetries<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  patience: Patience,
  purpose: Purpose,
  clock: Clock,
  gate: { until: number },
  outer: AbortSignal,
): Promise<T> {
  const started = clock.now();
  const tries = { rate: 0, transient: 0 };
  let last: EmbedError | undefined;
  for (;;) {
    try {
      await sleepUntil(gate.until, clock, outer);
      const left = patience.totalMs - (clock.now() - started);
      return await withTimeLimit(Math.max(1, Math.min(patience.attemptMs, left)), outer, (signal, expired) =>
        attempt(signal).catch((error: unknown) => {
          throw expired() ? timedOut(purpose, Math.min(patience.attemptMs, left)) : error;
        }),
      );
    } catch (thrown) {
      if (outer.aborted)
        throw last ?? new EmbedError("timeout", "The embedding was cut short before there was an answer.");
      const error = embedErrorOf(thrown);
      const pause = pauseAfter(error, tries, patience, clock);
      // Slowness after an error answer is still that error.
      if (error.kind !== "timeout") last = error;
      if (pause === null || clock.now() + pause - started > patience.totalMs) throw last ?? error;
      if (error.kind === "rate") gate.until = Math.max(gate.until, clock.now() + pause);
      else await clock.sleep(pause, outer).catch(() => undefined);
    }
  }
}

/** Milliseconds until the next try, null for none. Counts the failure. */
function pauseAfter(
  error: EmbedError,
  tries: { rate: number; transient: number },
  patience: Patience,
  clock: Clock,
): number | null {
  if (error.kind === "fatal" || error.kind === "refused") return null;
  const kind = error.kind === "rate" ? "rate" : "transient";
  const { attempts, baseMs, capMs } = patience[kind];
  const failed = ++tries[kind];
  // Slowness and nonsense seldom pass: one more try is enough.
  if (failed >= (error.kind === "timeout" || error.kind === "malformed" ? 2 : attempts)) return null;
  const spread = clock.random() * Math.min(capMs, baseMs * 2 ** (failed - 1));
  return error.retryAfterMs === undefined ? spread : error.retryAfterMs + spread * 0.2;
}

async function sleepUntil(time: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const wait = time - clock.now();
  if (wait > 0) await clock.sleep(wait, signal);
  signal.throwIfAborted();
}

function timedOut(purpose: Purpose, ms: number): EmbedError {
  const what = purpose === "query" ? "query" : "batch";
  return new EmbedError("timeout", `memory embeddings ${what} timed out after ${Math.round(ms / 100) / 10}s`);
}
