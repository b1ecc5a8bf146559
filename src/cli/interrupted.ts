import { showProgress } from "../output.ts";

/** Exit codes of a program that a signal ended, as shells count them. */
const CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Ends the program with a shell's exit code on SIGINT and SIGTERM. What was written stays, and a lock is known as stale by its process.
 * A command that listens itself (a server, `--watch`) decides for itself.
 */
export function endOnSignals(): void {
  for (const [signal, code] of Object.entries(CODES) as ["SIGINT" | "SIGTERM", number][]) {
    process.on(signal, () => {
      if (process.listenerCount(signal) > 1) return;
      showProgress("");
      process.exit(code);
    });
  }
}
