/** Exit codes of the command line: 1 a handled failure, 2 a usage error, 69 unavailable, 75 try again (sysexits.h). */
export type ExitCode = 1 | 2 | 69 | 75;

/**
 * The one error type that a person or a client ever sees: what is wrong and where in one sentence, and what to do.
 * `code` is stable and upper-case (`CONFIG_SYNTAX`); clients may switch on it.
 */
export class MemqError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, options: { hint?: string; exitCode?: ExitCode; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "MemqError";
    this.code = code;
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
  }
}

/** A mistake in how memq was called: exit code 2. */
export function usageError(message: string, hint?: string): MemqError {
  return new MemqError("USAGE", message, { ...(hint === undefined ? {} : { hint }), exitCode: 2 });
}

/** The sentence of any thrown value, without a stack. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
