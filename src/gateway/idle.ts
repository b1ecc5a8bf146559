/** This long without a message, the process counts as idle. */
const IDLE_MS = 2000;

/**
 * Gives memory back to the system once nothing has been asked for a while: a search leaves some ten megabytes behind, and
 * collecting them takes milliseconds that nobody waits for then. Call what is returned with each message.
 */
export function memoryReleaser(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      Bun.gc(true);
      Bun.shrink();
    }, IDLE_MS);
    timer.unref();
  };
}
