/*
 * The only place that writes to stdout. Results go there, everything said about them goes to stderr. Built-in modules are looked up
 * when needed: importing them takes longer than the whole of `--version`.
 */
import { printableText, shortened } from "./printable.ts";

/** Writes results, whole, before it returns; a reader that went away ends the program quietly. */
export function writeOut(text: string): void {
  writeWhole(1, text);
}

/** A value as indented JSON. */
export function writeJson(value: unknown): void {
  writeOut(`${JSON.stringify(value, null, 2)}\n`);
}

/** A sentence for a person, on stderr. It may quote names and answers of others. */
export function notice(sentence: string): void {
  writeWhole(2, `${printableText(shortened(sentence))}\n`);
}

/** The same in place of a progress line, which goes on below. */
export function noticeBetween(sentence: string): void {
  showProgress("");
  notice(sentence);
}

/** A whole document: as it is for a program, without control characters for a person. */
export function documentShown(text: string): string {
  return isOnTerminal() ? printableText(text) : text;
}

/**
 * Replaces the progress line on a terminal; elsewhere nothing. An empty line removes it. The terminal's window or task bar shows `share`
 * (0 to 1) too, or that something is under way (OSC 9;4, of ConEmu).
 */
export function showProgress(line: string, share?: number): void {
  if (!isTerminal(2)) return;
  const state = line === "" ? "0" : share === undefined ? "3" : `1;${Math.floor(share * 100)}`;
  const command = process.env["TERM"] === "dumb" ? "" : `\u001B]9;4;${state}\u0007`;
  writeWhole(2, `\r\u001B[K${command}${line}`);
}

function isTerminal(descriptor: 1 | 2): boolean {
  // What is no device is no terminal; `node:tty` brings streams and sockets along.
  if (!isDevice(descriptor)) return false;
  return (require("node:tty") as typeof import("node:tty")).isatty(descriptor);
}

function isDevice(descriptor: 1 | 2): boolean {
  try {
    return fileSystem().fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}

/** Whether a person sees stdout. */
export function isOnTerminal(): boolean {
  return isTerminal(1);
}

/** Whether stdout may carry colours. */
export function hasColor(): boolean {
  return !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb" && isTerminal(1);
}

/** The text in bold, dim or green where colours are wanted. */
export function styled(style: "bold" | "dim" | "green", text: string): string {
  if (!hasColor()) return text;
  const code = { bold: 1, dim: 2, green: 32 }[style];
  return `\u001B[${code}m${text}\u001B[0m`;
}

/** Where a server writes its messages. */
export type MessageStream = { write(message: string): void; flushed(): Promise<void> };

/**
 * Stdout as a stream of messages for a server: writing never blocks, and nothing else in the process can put a word between
 * them, since `console` speaks on stderr from then on. `onGone` is called when the reader is gone.
 */
export function openMessageStream(onGone: () => void): MessageStream {
  Object.assign(console, { log: console.error, info: console.error, debug: console.error, table: console.error });
  const { stdout } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = process.stderr.write.bind(process.stderr);
  let last: Promise<void> = Promise.resolve();
  stdout.on("error", onGone);
  return {
    write(message) {
      last = new Promise((resolve) => write(message, () => resolve()));
    },
    flushed: () => last,
  };
}

/** By `require`, which takes half as long as `getBuiltinModule`. */
function fileSystem(): typeof import("node:fs") {
  return require("node:fs") as typeof import("node:fs");
}

function writeWhole(descriptor: 1 | 2, text: string): void {
  // Ready at once, where `Buffer` is made first.
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    try {
      written += fileSystem().writeSync(descriptor, bytes, written);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      // A pipe that someone set to non-blocking and that is full: wait for its reader.
      if (code === "EAGAIN") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
      // What can't be said is no reason to end otherwise: the exit code still tells.
      else if (descriptor === 2 || code === "EBADF") return;
      else if (code === "EPIPE") process.exit(0);
      else throw error;
    }
  }
}
