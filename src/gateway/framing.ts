/** How messages follow each other: one JSON text per line, or a `Content-Length` header block before each (as in LSP). */
export type Framing = "lines" | "headers";

/** One message as it came in, or why there is none where one should be. */
export type Frame = { text: string } | { fault: string };

/** Longest message taken, in bytes; a longer one is skipped and reported, never collected. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

const MAX_HEADER_BYTES = 8 * 1024;
const NEWLINE = 0x0a;

/** Bytes as they arrive, in one growing buffer: appending and taking cost time in proportion to the bytes alone. */
class ByteQueue {
  #buffer = new Uint8Array(64 * 1024);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  append(chunk: Uint8Array): void {
    if (this.#end + chunk.length > this.#buffer.length) {
      const size = this.length + chunk.length;
      // A quiet process gives back what one huge message needed; otherwise the buffer doubles.
      const target = Math.max(64 * 1024, size > this.#buffer.length / 4 ? size * 2 : this.#buffer.length / 2);
      const next = new Uint8Array(target);
      next.set(this.#buffer.subarray(this.#start, this.#end));
      this.#end = this.length;
      this.#start = 0;
      this.#buffer = next;
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Position of the first `byte` at or after `from`, or -1. */
  indexOf(byte: number, from: number): number {
    return this.#buffer.subarray(this.#start, this.#end).indexOf(byte, from);
  }

  /** The first `count` bytes, valid until the next `append`. */
  take(count: number): Uint8Array {
    const taken = this.#buffer.subarray(this.#start, this.#start + count);
    this.drop(count);
    return taken;
  }

  drop(count: number): void {
    this.#start += count;
    if (this.#start === this.#end) this.#start = this.#end = 0;
  }

  peek(count: number): Uint8Array {
    return this.#buffer.subarray(this.#start, Math.min(this.#end, this.#start + count));
  }
}

/**
 * Cuts a byte stream into messages. The first bytes that are not white space decide the framing for the whole session:
 * `Content-Length:` (or `Content-Type:`) means header blocks, anything else means lines. Chunks may end anywhere, also inside
 * a character. A message that is too long or not UTF-8 becomes a `fault` in its place and the next one is read as usual.
 */
export class MessageDecoder {
  readonly #queue = new ByteQueue();
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #framing: Framing | null = null;
  /** Bytes of the queue already searched for a line end. */
  #scanned = 0;
  /** Length of the body that follows the header block just read. */
  #bodyBytes: number | null = null;
  /** Bytes of an over-long body still to be thrown away. */
  #skipBytes = 0;
  /** Whether the rest of an over-long line or header block is being thrown away. */
  #skipLine = false;

  constructor(maxBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** The framing found, null while nothing has arrived. */
  get framing(): Framing | null {
    return this.#framing;
  }

  /** The messages that `chunk` completes. */
  push(chunk: Uint8Array): Frame[] {
    this.#queue.append(chunk);
    this.#framing ??= this.#detect(false);
    return this.#drain();
  }

  /** What remains at the end of input: a last line without a line end, or a message that was cut off. */
  end(): Frame[] {
    this.#framing ??= this.#detect(true);
    const frames = this.#drain();
    if (this.#framing === "headers") {
      const open = this.#bodyBytes !== null || this.#queue.length > 0;
      return open ? [...frames, { fault: "the input ended inside a message" }] : frames;
    }
    if (this.#queue.length > 0 && !this.#skipLine) this.#decode(this.#queue.take(this.#queue.length), frames);
    return frames;
  }

  #detect(atEnd: boolean): Framing | null {
    const head = new TextDecoder("latin1").decode(this.#queue.peek(256)).trimStart().toLowerCase();
    if (head === "") return null;
    for (const name of ["content-length:", "content-type:"]) {
      if (head.startsWith(name)) return "headers";
      if (!atEnd && name.startsWith(head)) return null;
    }
    return "lines";
  }

  #drain(): Frame[] {
    const frames: Frame[] = [];
    if (this.#framing === "lines") while (this.#line(frames));
    if (this.#framing === "headers") while (this.#headed(frames));
    return frames;
  }

  #line(frames: Frame[]): boolean {
    const end = this.#queue.indexOf(NEWLINE, this.#scanned);
    if (end < 0) {
      this.#scanned = this.#queue.length;
      if (this.#queue.length > this.#maxBytes) {
        if (!this.#skipLine) frames.push({ fault: `a message is longer than ${this.#maxBytes} bytes` });
        this.#skipLine = true;
        this.#queue.drop(this.#queue.length);
        this.#scanned = 0;
      }
      return false;
    }
    const line = this.#queue.take(end + 1).subarray(0, end);
    this.#scanned = 0;
    if (this.#skipLine) this.#skipLine = false;
    else if (line.length > this.#maxBytes) frames.push({ fault: `a message is longer than ${this.#maxBytes} bytes` });
    else this.#decode(line, frames);
    return true;
  }

  #headed(frames: Frame[]): boolean {
    if (this.#skipBytes > 0) {
      const dropped = Math.min(this.#skipBytes, this.#queue.length);
      this.#queue.drop(dropped);
      this.#skipBytes -= dropped;
      if (this.#skipBytes > 0) return false;
    }
    if (this.#bodyBytes === null) return this.#header(frames);
    if (this.#queue.length < this.#bodyBytes) return false;
    this.#decode(this.#queue.take(this.#bodyBytes), frames);
    this.#bodyBytes = null;
    return true;
  }

  #header(frames: Frame[]): boolean {
    const block = this.#headerBlock();
    if (block === null) {
      if (this.#queue.length <= MAX_HEADER_BYTES) return false;
      frames.push({ fault: "a header block has no end" });
      this.#queue.drop(this.#queue.length);
      return false;
    }
    if (block === "") return true;
    const value = /^content-length:[ \t]*(\d{1,15})[ \t]*$/im.exec(block)?.[1];
    if (value === undefined) {
      frames.push({ fault: "a header block names no Content-Length" });
      return true;
    }
    const length = Number(value);
    if (length <= this.#maxBytes) {
      this.#bodyBytes = length;
      return true;
    }
    frames.push({ fault: `a message is longer than ${this.#maxBytes} bytes` });
    this.#skipBytes = length;
    return true;
  }

  /** Takes the lines up to and with the next empty one; null when it has not arrived, "" when there were only empty lines. */
  #headerBlock(): string | null {
    let lineStart = 0;
    for (let at = this.#queue.indexOf(NEWLINE, 0); at >= 0; at = this.#queue.indexOf(NEWLINE, at + 1)) {
      const line = new TextDecoder("latin1").decode(this.#queue.peek(at).subarray(lineStart));
      if (line.trim() === "")
        return new TextDecoder("latin1")
          .decode(this.#queue.take(at + 1))
          .replaceAll("\r", "")
          .trim();
      lineStart = at + 1;
      if (lineStart > MAX_HEADER_BYTES) return null;
    }
    return null;
  }

  #decode(bytes: Uint8Array, frames: Frame[]): void {
    try {
      const text = this.#decoder.decode(bytes).trim();
      if (text !== "") frames.push({ text });
    } catch {
      frames.push({ fault: "a message is not valid UTF-8" });
    }
  }
}

/** A message ready to be written. JSON texts hold no line ends, so lines need no escaping. */
export function frameMessage(json: string, framing: Framing): string {
  return framing === "lines" ? `${json}\n` : `Content-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`;
}
