import type { ArgumentsOf, ObjectSchema } from "./schema.ts";

export type Content =
  | { type: "text"; text: string }
  | { type: "resource"; resource: { uri: string; mimeType: string; text: string } };

/** What a tool answers: `structuredContent` wherever the tool has an output schema and nothing went wrong. */
export type ToolAnswer = { content: Content[]; structuredContent?: object; isError?: true };

/** What a tool is told about the call it serves. */
export type ToolCall = {
  /** Aborted when the caller loses interest. */
  signal: AbortSignal;
  /** Says what the call is waiting for, to a caller that asked for progress. */
  say: (message: string) => void;
  /** Whether anybody listens to `say`. */
  heard: boolean;
};

export type ToolAnnotations = {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
};

/** A tool as the protocol shows it, and what runs when it is called with arguments that fit `inputSchema`. */
export type Tool = {
  name: string;
  title: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: ToolAnnotations;
  /** Can be called, and is not listed. */
  unlisted?: boolean;
  run(args: never, call: ToolCall): Promise<ToolAnswer>;
};

export type ResourceTemplate = {
  name: string;
  title: string;
  description: string;
  uriTemplate: string;
  mimeType: string;
};

/** The text of a resource; null when there is none of that address. */
export type ReadResource = { uri: string; name: string; title: string; mimeType: string; text: string };

/** What a home offers over MCP, whatever the transport and the protocol's version. */
export type McpSurface = {
  /** Every tool, in the order in which they are listed. */
  tools(): Promise<Tool[]>;
  instructions(): Promise<string>;
  resources?: {
    templates: ResourceTemplate[];
    read(uri: string): Promise<ReadResource | null>;
  };
  /** Plain searches over HTTP, outside of the protocol: the body's typed `searches` and their limits. */
  search?(body: Record<string, unknown>): Promise<object>;
  /** Lets go of everything that is open. */
  close(): Promise<void>;
};

/** Room in one answer, in bytes of JSON: official clients end a session on a pipe at a message of more than 10 MiB. */
export const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** What a value takes in a message. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** What reads and never leaves the machine's own notes. */
export const READ_ONLY: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };

/** A tool whose `run` sees the arguments in the types of its input schema. */
export function tool<const S extends ObjectSchema>(
  definition: Omit<Tool, "inputSchema" | "run"> & {
    inputSchema: S;
    run(args: ArgumentsOf<S>, call: ToolCall): Promise<ToolAnswer>;
  },
): Tool {
  return definition;
}

/** An answer that is one JSON value: structured, and as text for clients that read only that. */
export function jsonAnswer(value: object): ToolAnswer {
  return { content: [{ type: "text", text: JSON.stringify(value, null, 2) }], structuredContent: value };
}

/** A failure that the agent is told about in words. */
export function failure(sentence: string): ToolAnswer {
  return { content: [{ type: "text", text: sentence }], isError: true };
}
