import { EmbedError } from "./errors.ts";

/** Watches whether a server embeds at all, so that one that takes requests and never does is found out soon. */
export type FirstAnswer = {
  /** Whether there was an answer, or none is watched for. */
  heard(): boolean;
  /** `exchange` as it is; an answer to it, an error too, ends the watch. */
  listen<T>(exchange: Promise<T>): Promise<T>;
  /** Runs `work`, whose signal is aborted when nothing was heard in time; then throws an `EmbedError` that names the server. */
  within<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
};

export type FirstAnswerOptions = {
  /** Milliseconds for the first answer, tries again included; undefined watches for none. */
  ms: number | undefined;
  /** The same for a server that `isAlive`, in which it can load a large model from a slow disk. */
  loadMs: number;
  /** How the server is called in a sentence: its address. */
  server: string;
  model: string;
  /** Whether the server answers another question, as one does that is still loading its model; such a server is waited for longer. */
  isAlive?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
};

/** Part of the time for a first answer that goes into finding out whether the server is alive. */
const ALIVE_SHARE = 1 / 6;

/** A watch over one server, for as long as its provider is open. */
export function createFirstAnswer(options: FirstAnswerOptions): FirstAnswer {
  const { ms, loadMs, isAlive } = options;
  let heard = ms === undefined;
  const aliveMs = (ms ?? 0) * ALIVE_SHARE;

  const isSilent = async (): Promise<boolean> => {
    if (isAlive === undefined) return true;
    return !(await isAlive(AbortSignal.timeout(aliveMs)).catch(() => false));
  };

  /** Aborts `silence` when the time of such a server is over; returns what calls it off. */
  const watch = (silence: AbortController): (() => void) => {
    let isOver = false;
    const endUnlessHeard = (reason: EmbedError): void => {
      if (!heard && !isOver) silence.abort(reason);
    };
    const look = async (): Promise<void> => {
      if (heard) return;
      if (await isSilent()) endUnlessHeard(noAnswer(options));
      else if (!isOver) timer = setTimeout(() => endUnlessHeard(noVector(options)), loadMs - (ms ?? 0));
    };
    let timer = setTimeout(() => void look(), isAlive === undefined ? ms : (ms ?? 0) - aliveMs);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  };

  return {
    heard: () => heard,
    async listen(exchange) {
      try {
        const answer = await exchange;
        heard = true;
        return answer;
      } catch (error) {
        heard ||= isAnswer(error);
        throw error;
      }
    },
    async within(signal, work) {
      if (heard) return work(signal);
      const silence = new AbortController();
      const stop = watch(silence);
      try {
        return await work(AbortSignal.any([signal, silence.signal]));
      } catch (error) {
        const isCutShort = error instanceof EmbedError && error.kind === "timeout";
        // What an earlier try met, such as a refused connection, says more than that time ran out.
        if (!silence.signal.aborted || signal.aborted || !isCutShort) throw error;
        throw silence.signal.reason;
      } finally {
        stop();
      }
    },
  };
}

/** Whether an error is one of an answer that came, if no good one. */
export function isAnswer(error: unknown): boolean {
  return error instanceof EmbedError && (error.status !== undefined || error.kind === "malformed");
}

function noAnswer({ server, ms = 0 }: FirstAnswerOptions): EmbedError {
  return new EmbedError("timeout", `${server} took the request and gave no answer within ${ms / 1000} s.`, {
    hint: "Is the server that embeds running properly there?",
  });
}

function noVector({ server, model, loadMs }: FirstAnswerOptions): EmbedError {
  return new EmbedError(
    "timeout",
    `${server} is there, but gave no vector of a first text within ${loadMs / 1000} s: "${model}" may be no embedding model, take longer to load, or hang.`,
    { hint: "Look at what that server says of the model, and try again once it has loaded it." },
  );
}
