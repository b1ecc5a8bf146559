import { EmbedError } from "./errors.ts";

/** Watches whether a server answers at all, so that one that takes connections and says nothing is found out soon. */
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
  /** How the server is called in a sentence: its address. */
  server: string;
  /** Whether the server answers another question, as one does that is still loading its model; such a server is waited for. */
  isAlive?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
};

/** Part of the time for a first answer that goes into finding out whether the server is alive. */
const ALIVE_SHARE = 1 / 6;

/** A watch over one server, for as long as its provider is open. */
export function createFirstAnswer({ ms, server, isAlive }: FirstAnswerOptions): FirstAnswer {
  let heard = ms === undefined;
  const aliveMs = (ms ?? 0) * ALIVE_SHARE;

  const isSilent = async (): Promise<boolean> => {
    if (heard || isAlive === undefined) return !heard;
    const alive = await isAlive(AbortSignal.timeout(aliveMs)).catch(() => false);
    return !heard && !alive;
  };

  return {
    heard: () => heard,
    async listen(exchange) {
      try {
        const answer = await exchange;
        heard = true;
        return answer;
      } catch (error) {
        heard ||= error instanceof EmbedError && (error.status !== undefined || error.kind === "malformed");
        throw error;
      }
    },
    async within(signal, work) {
      if (ms === undefined || heard) return work(signal);
      const silence = new AbortController();
      const end = (): void => void isSilent().then((silent) => (silent ? silence.abort() : undefined));
      const timer = setTimeout(end, isAlive === undefined ? ms : ms - aliveMs);
      try {
        return await work(AbortSignal.any([signal, silence.signal]));
      } catch (error) {
        const isCutShort = error instanceof EmbedError && error.kind === "timeout";
        // What an earlier try met, such as a refused connection, says more than that time ran out.
        if (!silence.signal.aborted || signal.aborted || !isCutShort) throw error;
        throw new EmbedError("timeout", `${server} took the request and gave no answer within ${ms / 1000} s.`, {
          hint: "Is the server that embeds running properly there?",
        });
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
