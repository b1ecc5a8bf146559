// A service that speaks one provider's protocol on this machine, keeps what it was asked and misbehaves on demand.
import { vectorOf } from "./vectors.ts";

export type Recorded = { method: string; url: URL; headers: Record<string, string>; body: unknown; text: string };

/** One provider's wire format. */
export type Wire = {
  /** The texts of a request for embeddings; null for any other request. */
  texts(request: Recorded): string[] | null;
  /** The answer's body for vectors in the order of the texts; `order` is the order in which they are listed. */
  reply(vectors: unknown[], order: number[], request: Recorded): unknown;
  /** Answers to other requests: tokens, lists of models, files, jobs. */
  other?(request: Recorded): Response | null | Promise<Response | null>;
};

export type Misbehaviour = {
  /** More texts than this are refused with 400. */
  maxItems?: number;
  /** So many answers of this kind come first. */
  failFirst?: { times: number; status: number; headers?: Record<string, string>; body?: string };
  /** A text with this in it makes the whole request fail with 400. */
  poison?: string;
  /** A text with this in it gets a vector that holds no number. */
  notANumber?: string;
  reorder?: boolean;
  /** One vector too few. */
  dropOne?: boolean;
  /** Vectors of texts with this in it are two numbers short. */
  shortFor?: string;
  hang?: boolean;
  /** A request with a text with this in it is not answered before `release`. */
  hangFor?: string;
  /** So many connections are closed without an answer first. */
  closeFirst?: number;
  redirect?: { status: number; to: string };
  notJson?: boolean;
  /** Answers never end. */
  endless?: boolean;
};

export type StandIn = {
  /** Requests for embeddings that were understood, in order. */
  asked: Recorded[];
  /** All requests, in order. */
  all: Recorded[];
  /** Texts that got a vector, in order. */
  embedded: string[];
  misbehave: Misbehaviour;
  /** Stands for the network: every https host is this server. Requests to `http://127.0.0.1` go where they say. */
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  origin: string;
  /** Resolves when so many texts were embedded; from then on it hangs. */
  reached(count: number): Promise<void>;
  /** Numbers in a vector, and in those of particular models. */
  length: number;
  lengthOf: Record<string, number>;
  /** Bytes of endless answers that were taken. */
  poured: number;
  /** Answers what `hangFor` holds back by now. */
  answerHeld(): void;
  /** The same, and holds nothing back any more. */
  release(): void;
  stop(): Promise<void>;
};

export function standIn(wire: Wire): StandIn {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: (request) => answer(request) });
  // Takes a request's first bytes and hangs up.
  const closer = Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data: (socket) => socket.terminate() } });
  const origin = `http://127.0.0.1:${server.port}`;
  let goal: { count: number; resolve: () => void } | null = null;
  const held: (() => void)[] = [];
  const state: StandIn = {
    asked: [],
    all: [],
    embedded: [],
    misbehave: {},
    poured: 0,
    length: 8,
    lengthOf: {},
    answerHeld() {
      for (const answerNow of held.splice(0)) answerNow();
    },
    release() {
      delete state.misbehave.hangFor;
      state.answerHeld();
    },
    origin,
    fetch(url, init) {
      const target = new URL(url);
      const { closeFirst = 0 } = state.misbehave;
      if (closeFirst > 0) {
        state.misbehave.closeFirst = closeFirst - 1;
        return fetch(`http://127.0.0.1:${closer.port}${target.pathname}`, init);
      }
      if (target.protocol === "http:" && target.hostname === "127.0.0.1") return fetch(url, init);
      const headers = new Headers(init.headers);
      headers.set("x-test-origin", target.origin);
      return fetch(origin + target.pathname + target.search, { ...init, headers });
    },
    reached(count) {
      return new Promise((resolve) => {
        goal = { count, resolve };
      });
    },
    async stop() {
      closer.stop(true);
      await server.stop(true);
    },
  };

  async function answer(request: Request): Promise<Response> {
    const record = await recorded(request);
    state.all.push(record);
    const texts = wire.texts(record);
    if (texts === null) return (await wire.other?.(record)) ?? new Response("404 page not found", { status: 404 });
    state.asked.push(record);
    return misbehaved(texts, record) ?? wellBehaved(texts, record);
  }

  function misbehaved(texts: string[], record: Recorded): Response | Promise<Response> | null {
    if (goal !== null && state.embedded.length >= goal.count) {
      goal.resolve();
      goal = null;
      state.misbehave.hang = true;
    }
    const { hang, hangFor, failFirst, redirect, maxItems, poison, notJson, endless } = state.misbehave;
    if (hang) return new Promise(() => {});
    if (endless) return new Response(new ReadableStream({ pull: pour }));
    if (redirect) return new Response("", { status: redirect.status, headers: { Location: redirect.to } });
    if (failFirst && failFirst.times-- > 0) {
      return new Response(failFirst.body ?? "busy", { status: failFirst.status, headers: failFirst.headers });
    }
    if (maxItems !== undefined && texts.length > maxItems) return refused(`at most ${maxItems} inputs in a batch`);
    if (hangFor !== undefined && texts.some((text) => text.includes(hangFor)))
      return new Promise((resolve) => held.push(() => resolve(wellBehaved(texts, record))));
    if (poison !== undefined && texts.some((text) => text.includes(poison))) return refused("invalid input");
    return notJson ? new Response("<html>captive portal</html>") : null;
  }

  async function pour(stream: ReadableStreamDefaultController): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const bytes = new Uint8Array(1 << 20).fill(32);
    state.poured += bytes.length;
    stream.enqueue(bytes);
  }

  function wellBehaved(texts: string[], record: Recorded): Response {
    const { notANumber, shortFor, dropOne, reorder } = state.misbehave;
    const { model = "" } = (record.body ?? {}) as { model?: string };
    const vectors = texts.map((text) => {
      const vector: unknown[] = vectorOf(text, state.lengthOf[model] ?? state.length);
      if (notANumber !== undefined && text.includes(notANumber)) vector[3] = null;
      return shortFor !== undefined && text.includes(shortFor) ? vector.slice(2) : vector;
    });
    const order = vectors.map((_, i) => i).slice(0, dropOne ? -1 : undefined);
    state.embedded.push(...texts);
    return Response.json(wire.reply(vectors, reorder ? order.reverse() : order, record));
  }
  return state;
}

function refused(message: string): Response {
  return Response.json({ error: { message, type: "invalid_request_error" } }, { status: 400 });
}

async function recorded(request: Request): Promise<Recorded> {
  const text = await request.text();
  const headers = Object.fromEntries(request.headers);
  const url = new URL(request.url);
  const origin = headers["x-test-origin"];
  if (origin !== undefined) url.href = origin + url.pathname + url.search;
  return { method: request.method, url, headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
