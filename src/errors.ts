import { shortened } from "./printable.ts";

/** Exit codes of the command line: 1 a handled failure, 2 a usage error, 69 unavailable, 75 try again (sysexits.h). */
export type ExitCode = 1 | 2 | 69 | 75;

/**
 * The one error type that a person or a client ever sees: what is wrong and where in one sentence, and what to do.
 * `code` is stable and upper-case (`CONFIG_SYNTAX`); clients may switch on it. A name that is as long as a text is not quoted whole.
 */
export class MemqError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;

  constructor(code: string, message: string, options: { hint?: string; exitCode?: ExitCode; cause?: unknown } = {}) {
    super(shortened(message), options.cause === undefined ? undefined : { cause: options.cause });
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

/** What the system and SQLite refuse, by the beginning of their code: our code, the sentence for a path (or none), and the hint. */
const REFUSALS: [
  pattern: RegExp,
  code: string,
  sentence: (where: string) => string,
  hint: string,
  exitCode?: ExitCode,
][] = [
  [
    /^(ENOSPC|EDQUOT|EFBIG|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)/,
    "DISK_FULL",
    (path) => `There is no space left to write${path}.`,
    "Free some space and try again; what was written before stays.",
  ],
  [
    /^(EACCES|EPERM)/,
    "PERMISSION_DENIED",
    (path) => `Permission denied${path}.`,
    "Check who owns it and its permissions, and those of its folder.",
  ],
  [
    /^ENOENT/,
    "NOT_FOUND",
    (path) => `There is no such file or folder${path}.`,
    "Check the path, and that its folder exists.",
  ],
  [
    /^(EROFS|SQLITE_READONLY)/,
    "READ_ONLY",
    (path) => `Writing is not allowed there${path}.`,
    "Check the permissions of the file and its folder and whether the disk may be written to, or choose another place.",
  ],
  [
    /^(ENOTDIR|EEXIST)/,
    "NO_FOLDER",
    (path) => `A file stands where a folder is needed${path}.`,
    "Move it away, or choose another place.",
  ],
  [
    /^EISDIR/,
    "NO_FILE",
    (path) => `A folder stands where a file is needed${path}.`,
    "Move it away, or choose another place.",
  ],
  [
    /^ENAMETOOLONG/,
    "NAME_TOO_LONG",
    (path) => `A name is longer than the system allows${path}.`,
    "Choose a shorter one.",
  ],
  [/^ELOOP/, "LINK_LOOP", (path) => `Links lead in a circle${path}.`, "Correct the links, or choose another place."],
  [
    /^(EMFILE|ENFILE)/,
    "TOO_MANY_FILES",
    (path) => `The system has no more files to open${path}.`,
    "Raise the limit with `ulimit -n`, or close other programs.",
  ],
  [
    /^(EIO|SQLITE_IOERR)/,
    "DISK_ERROR",
    (path) => `The disk could not be read or written${path}.`,
    "Check the disk, its free space and `ulimit -f`.",
  ],
  [
    /^SQLITE_(CORRUPT|NOTADB)/,
    "INDEX_DAMAGED",
    (code) => `The index is damaged${code}.`,
    "The next update sets it aside and rebuilds it from your notes.",
  ],
  [
    /^SQLITE_(BUSY|LOCKED)/,
    "INDEX_BUSY",
    (code) => `The index is in use by another process${code}.`,
    "Try again; QMD_SQLITE_BUSY_TIMEOUT sets how many milliseconds to wait.",
    75,
  ],
  [
    /^SQLITE_CANTOPEN/,
    "INDEX_UNREADABLE",
    (code) => `The index file can't be opened${code}.`,
    "Check that it is a regular file, its permissions and those of its folder, and the free space.",
  ],
  [
    /^SQLITE_/,
    "INDEX_ERROR",
    (code) => `The index could not be read or written${code}.`,
    "Try again; where that does not help, move the index file away: the next update builds it anew from your notes.",
  ],
];

/** What a refusal of the system or of SQLite is to a person; undefined for any other error. */
function refusalOf(
  error: unknown,
): { code: string; reason: string; sentence: string; hint: string; exitCode: ExitCode } | undefined {
  const { code: systemCode, path } = (error ?? {}) as { code?: unknown; path?: unknown };
  if (typeof systemCode !== "string") return undefined;
  const refusal = REFUSALS.find(([pattern]) => pattern.test(systemCode));
  if (refusal === undefined) return undefined;
  const [, code, sentence, hint, exitCode = 1] = refusal;
  const where = typeof path === "string" ? `: ${path} (${systemCode})` : ` (${systemCode})`;
  const reason = `${sentence("").replace(/\.$/, "")} (${systemCode})`;
  return { code, reason: reason.charAt(0).toLowerCase() + reason.slice(1), sentence: sentence(where), hint, exitCode };
}

/** Any thrown value as the one error type; `INTERNAL` when it is neither ours nor a refusal of the system or of SQLite. */
export function asMemqError(error: unknown): MemqError {
  if (error instanceof MemqError) return error;
  const refusal = refusalOf(error);
  if (refusal === undefined) return new MemqError("INTERNAL", messageOf(error), { cause: error });
  const { code, sentence, hint, exitCode } = refusal;
  return new MemqError(code, sentence, { hint, exitCode, cause: error });
}

/** The sentence of any thrown value, without a stack and without the words of the system or of SQLite. */
export function messageOf(error: unknown): string {
  const refusal = error instanceof MemqError ? undefined : refusalOf(error);
  return refusal?.sentence ?? (error instanceof Error ? error.message : String(error));
}

/** The same with a full stop, for what may end without one. */
export function sentenceOf(error: unknown): string {
  return messageOf(error).replace(/[.\s]*$/, ".");
}

/** The same to stand behind a colon in a sentence that says already what could not be done, and with which file. */
export function reasonOf(error: unknown): string {
  const refusal = error instanceof MemqError ? undefined : refusalOf(error);
  return refusal?.reason ?? messageOf(error).replace(/\.$/, "");
}

/** What to do about a refusal of the system or of SQLite; undefined for any other error. */
export function hintOf(error: unknown): string | undefined {
  return error instanceof MemqError ? error.hint : refusalOf(error)?.hint;
}
