/** Raised whenever a message changes its meaning; part of the socket's name. */
export const protocolVersion = 1;

/** Exit code of a host that was started by another version. */
export const otherVersion = 3;

/** How a model is loaded; a context that is there already is used as it is. */
export type LoadOptions = { threads: number; contextSize: number };

export type ExpansionLine = { type: "lex" | "vec" | "hyde"; text: string };

/** One JSON object a line, from client to host. `model` is an absolute path. A client that goes away cancels what it asked. */
export type HostRequest =
  | { id: number; op: "embed"; model: string; texts: string[]; bulk: boolean; load: LoadOptions }
  | { id: number; op: "rank"; model: string; query: string; documents: string[]; load: LoadOptions }
  | { id: number; op: "expand"; model: string; query: string; load: LoadOptions }
  /** `load`: load llama.cpp first. */
  | { id: number; op: "info"; load: boolean }
  | { id: number; op: "cancel" };

export type EmbedResult = {
  /** Vectors as base64 of 32-bit floats, little endian. */
  vectors: string[];
  /** Indices of the texts that were cut to fit the model. */
  truncated: number[];
};

export type HostInfo = {
  pid: number;
  version: string;
  uptimeMs: number;
  /** `metal`, `cpu`, or null while llama.cpp is not loaded. */
  backend: string | null;
  models: { path: string; uses: ("embed" | "rank" | "expand")[] }[];
  /** Requests that wait or run. */
  pending: number;
};

/** What the host says first on each connection: only then it is there, and not just about to go. */
export type HostHello = { hello: typeof protocolVersion };

/** From host to client: the answer to the request of the same id. */
export type HostReply =
  | { id: number; result: unknown }
  | { id: number; error: { code: string; message: string; hint?: string } };

/** Longer messages end the connection: no request of ours comes near it. */
const maxMessageBytes = 256_000_000;

/** Returns a function that takes chunks of a stream and yields its complete lines, parsed. Throws on broken JSON. */
export function messageReader(): (chunk: Buffer) => unknown[] {
  let parts: Buffer[] = [];
  let size = 0;
  return (chunk) => {
    const messages: unknown[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      messages.push(JSON.parse(Buffer.concat(parts).toString()));
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      parts.push(chunk.subarray(start));
      size += chunk.length - start;
      if (size > maxMessageBytes) throw new Error("message too long");
    }
    return messages;
  };
}

/** A message as it goes over the socket, its line end included. */
export function messageLine(message: HostRequest | HostReply | HostHello): string {
  return `${JSON.stringify(message)}\n`;
}

/** A vector as base64 of its 32-bit floats, little endian. */
export function encodedVector(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}

/** The vector that `encodedVector` wrote. */
export function decodedVector(text: string): Float32Array {
  // A copy: Buffer's pool does not align to four bytes.
  return new Float32Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
}
