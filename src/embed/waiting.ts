/** Says in a sentence what is waited for. */
export type Tell = (sentence: string) => void;

/** Notices when nothing has been heard of a server for a while, so that nobody wonders what a command is doing. */
export type Waiting = {
  /** There was an answer of some kind. */
  heard(): void;
  /** Runs `work` and tells meanwhile what it waits for, at most once a minute. */
  during<T>(tell: Tell | undefined, work: () => Promise<T>): Promise<T>;
};

export type WaitingOptions = {
  /** What is waited for before the first answer and after it, in a sentence's middle. */
  first: string;
  later: string;
  /** Milliseconds until which the other side asked not to be asked, from now. */
  pause?: () => number;
};

const FIRST_MS = 4_000;
const LATER_MS = 30_000;
const AGAIN_MS = 60_000;
/** Shorter pauses are not worth a word. */
const LONG_PAUSE_MS = 10_000;

/** The notices of one server, for as long as its provider is open. */
export function createWaiting({ first, later, pause = () => 0 }: WaitingOptions): Waiting {
  let isKnown = false;
  let heardAt = performance.now();
  let toldAt = -Infinity;

  /** What there is to tell now, if anything. */
  const sentence = (now: number): string | null => {
    if (now - toldAt < AGAIN_MS) return null;
    const left = pause();
    if (left >= LONG_PAUSE_MS)
      return `Waiting for ${later}: it asked for a pause, ${Math.ceil(left / 1000)} s are left.`;
    const silent = now - heardAt;
    if (silent < (isKnown ? LATER_MS : FIRST_MS)) return null;
    return isKnown
      ? `Waiting for ${later}: no answer for ${Math.round(silent / 1000)} s.`
      : `Waiting for ${first}: no answer for ${Math.round(silent / 1000)} s.`;
  };

  return {
    heard() {
      isKnown = true;
      heardAt = performance.now();
    },
    async during(tell, work) {
      if (tell === undefined) return work();
      heardAt = performance.now();
      const look = (): void => {
        const now = performance.now();
        const said = sentence(now);
        if (said === null) return;
        toldAt = now;
        tell(said);
      };
      const timer = setInterval(look, 1_000);
      try {
        return await work();
      } finally {
        clearInterval(timer);
      }
    },
  };
}
