// The batch APIs of OpenAI, Voyage and Gemini: files, jobs, results.
import type { Recorded, Wire } from "./stand-in.ts";
import { vectorOf } from "./vectors.ts";

export type BatchServer = {
  /** Polls that find a job unfinished before it is done. */
  polls: number;
  /** Jobs stay unfinished while this is set. */
  isHeld: boolean;
  /** How jobs end. */
  end: "completed" | "failed";
  /** Whether jobs can be made at all. */
  available: boolean;
  /** Keys of lines that get an error instead of a vector. */
  badText?: string;
  /** Texts that jobs embedded, in order. */
  embedded: string[];
  /** Bodies of the requests that made jobs. */
  created: unknown[];
  /** The uploaded lines, parsed. */
  lines: Record<string, unknown>[];
  /** Numbers in a vector. */
  length: number;
  /** What a file of results is sent as. */
  sent?: (text: string) => string | ReadableStream;
};

type Line = { key: string; text: string };

export function batchServer(): BatchServer {
  return {
    polls: 2,
    isHeld: false,
    end: "completed",
    available: true,
    embedded: [],
    created: [],
    lines: [],
    length: 8,
  };
}

/** `inline` plus `/files` and `/batches` as OpenAI and Voyage have them. */
export function withOpenAiBatches(inline: Wire, state: BatchServer): Wire {
  const files = new Map<string, string>();
  const jobs = new Map<string, { polls: number; input: string }>();
  return {
    ...inline,
    other(request) {
      const { pathname } = request.url;
      if (pathname.endsWith("/files")) return Response.json({ id: kept(files, uploadedLines(request)) });
      if (pathname.endsWith("/batches")) {
        if (!state.available) return new Response("no batches here", { status: 403 });
        state.created.push(request.body);
        const id = `batch_${jobs.size + 1}`;
        jobs.set(id, { polls: state.polls, input: (request.body as { input_file_id: string }).input_file_id });
        return Response.json({ id, status: "validating" });
      }
      const content = /\/files\/([^/]+)\/content$/.exec(pathname)?.[1];
      if (content !== undefined)
        return new Response(sentAs(files.get(content) ?? "", state), { status: files.has(content) ? 200 : 404 });
      const job = jobs.get(/\/batches\/([^/]+)$/.exec(pathname)?.[1] ?? "");
      if (job === undefined) return null;
      if (state.isHeld || job.polls-- > 0) return Response.json({ status: "in_progress" });
      if (state.end === "failed") {
        const error = JSON.stringify({ custom_id: "x", error: { message: "the model is on holiday" } });
        return Response.json({ status: "failed", error_file_id: kept(files, error) });
      }
      const made = openAiLines(files.get(job.input) ?? "", state).map(({ key, text }) =>
        openAiResult(key, text, state),
      );
      return Response.json({ status: "completed", output_file_id: kept(files, made.reverse().join("\n")) });
    },
  };
}

function openAiLines(jsonl: string, state: BatchServer): Line[] {
  return parsedLines(jsonl, state).map((line) => {
    const { custom_id: key, body } = line as { custom_id: string; body: { input: string } };
    return { key, text: body.input };
  });
}

function openAiResult(key: string, text: string, state: BatchServer): string {
  if (state.badText !== undefined && text.includes(state.badText)) {
    return JSON.stringify({ custom_id: key, response: { status_code: 400, body: { error: { message: "bad" } } } });
  }
  state.embedded.push(text);
  const data = [{ embedding: vectorOf(text) }];
  return JSON.stringify({ custom_id: key, response: { status_code: 200, body: { data } } });
}

/** `inline` plus Gemini's uploads, operations and downloads. */
export function withGeminiBatches(inline: Wire, state: BatchServer): Wire {
  const files = new Map<string, string>();
  const jobs = new Map<string, { polls: number; input: string }>();
  return {
    ...inline,
    other(request) {
      const { pathname, searchParams } = request.url;
      if (pathname === "/upload/v1beta/files" && searchParams.get("uploadType") === "multipart") {
        return Response.json({ file: { name: `files/${kept(files, uploadedLines(request))}` } });
      }
      if (pathname.endsWith(":asyncBatchEmbedContent")) {
        if (!state.available) return new Response("not found", { status: 404 });
        state.created.push(request.body);
        const { file_name: input } = (request.body as { batch: { inputConfig: { file_name: string } } }).batch
          .inputConfig;
        const name = `batches/${jobs.size + 1}`;
        jobs.set(name, { polls: state.polls, input: input.replace("files/", "") });
        return Response.json({ name });
      }
      const download = /^\/download\/v1beta\/files\/([^/]+):download$/.exec(pathname)?.[1];
      if (download !== undefined) return new Response(sentAs(files.get(download) ?? "", state));
      const job = jobs.get(/(batches\/[^/]+)$/.exec(pathname)?.[1] ?? "");
      if (job === undefined) return null;
      if (state.isHeld || job.polls-- > 0) return Response.json({ metadata: { state: "BATCH_STATE_RUNNING" } });
      if (state.end === "failed") return Response.json({ done: true, error: { message: "the model is on holiday" } });
      const made = parsedLines(files.get(job.input) ?? "", state).map((line) => {
        const { key, request } = line as { key: string; request: { content: { parts: { text: string }[] } } };
        const text = request.content.parts[0]?.text ?? "";
        state.embedded.push(text);
        return JSON.stringify({ key, response: { embedding: { values: vectorOf(text, state.length) } } });
      });
      const responsesFile = `files/${kept(files, made.join("\n"))}`;
      return Response.json({ metadata: { state: "BATCH_STATE_SUCCEEDED", output: { responsesFile } }, done: true });
    },
  };
}

function sentAs(text: string, { sent }: BatchServer): string | ReadableStream {
  return sent?.(text) ?? text;
}

function kept(files: Map<string, string>, text: string): string {
  const id = `file-${files.size + 1}`;
  files.set(id, text);
  return id;
}

function parsedLines(jsonl: string, state: BatchServer): Record<string, unknown>[] {
  const lines = jsonl.split("\n").filter((line) => line.trim() !== "");
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  state.lines.push(...parsed);
  return parsed;
}

/** The JSON Lines part of a multipart upload. */
function uploadedLines(request: Recorded): string {
  const boundary = /boundary=([^;]+)/.exec(request.headers["content-type"] ?? "")?.[1] ?? "?";
  const part = request.text.split(`--${boundary}`).find((text) => text.includes("application/jsonl\r\n"));
  return part?.slice(part.indexOf("\r\n\r\n") + 4).trimEnd() ?? "";
}
