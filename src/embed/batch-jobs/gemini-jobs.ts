import { urlOf } from "../connection.ts";
import { EmbedError, redacted } from "../errors.ts";
import { requestJson, requestLines, type Exchange } from "../exchange.ts";
import { geminiRequest, type GeminiForm } from "../gemini.ts";
import { sha256 } from "../../sha256.ts";
import { multipart } from "./multipart.ts";
import type { JobLine, JobService, JobState } from "./types.ts";

const DONE = new Set(["SUCCEEDED", "COMPLETED", "DONE"]);
const FAILED = new Set(["FAILED", "CANCELLED", "CANCELED", "EXPIRED"]);

/** What the message says when a model or a region has no batch jobs: no use in trying again. */
export const NOT_AVAILABLE = "asyncBatchEmbedContent not available";

/** Gemini's batch API: an uploaded file of requests, a long-running operation, a file of responses. */
export function geminiJobs(form: GeminiForm): JobService {
  const { id, model, connection } = form;
  const { baseUrl, headers, secrets } = connection;
  const failure = `${id} batch failed:`;
  const exchange = (url: string, signal: AbortSignal): Exchange => {
    return { url, headers, secrets, signal, provider: id, failure };
  };
  return {
    maxRequests: 50_000,
    maxBytes: 100 * 1024 * 1024,
    line: ({ key, input }) =>
      JSON.stringify({ key, request: { ...geminiRequest(form, "document", input), model: `models/${model}` } }),
    async upload(jsonl, signal, context) {
      const tag = sha256(jsonl).slice(0, 16);
      const file = { file: { displayName: `memory-embeddings-${tag}`, mimeType: "application/jsonl" } };
      const { contentType, body } = multipart("related", [
        { headers: { "Content-Type": "application/json; charset=UTF-8" }, text: JSON.stringify(file) },
        { headers: { "Content-Type": "application/jsonl" }, text: jsonl },
      ]);
      const request = { ...exchange(uploadUrl(baseUrl), signal), body };
      const reply = await requestJson({ ...request, headers: { ...headers, "Content-Type": contentType } }, context);
      const { name, file: made } = reply as { name?: unknown; file?: { name?: unknown } };
      const fileId = made?.name ?? name;
      if (typeof fileId === "string") return fileId;
      throw new EmbedError("fatal", `${id} batch file upload failed: missing file id`);
    },
    async create(fileId, signal, context) {
      const url = urlOf(baseUrl, `/models/${model}:asyncBatchEmbedContent`);
      const body = { batch: { displayName: "memory-embeddings-memq", inputConfig: { file_name: fileId } } };
      const reply = await requestJson({ ...exchange(url, signal), body }, context).catch((error: unknown) => {
        if (!(error instanceof EmbedError) || error.status !== 404) throw error;
        throw new EmbedError("fatal", `${id} batch failed: ${NOT_AVAILABLE} for ${model}.`, { status: 404 });
      });
      const { name } = reply as { name?: unknown };
      if (typeof name === "string") return name;
      throw new EmbedError("fatal", `${id} batch create failed: missing batch name`);
    },
    async poll(jobId, signal, context) {
      const url = urlOf(baseUrl, `/${jobId.startsWith("batches/") ? jobId : `batches/${jobId}`}`);
      return stateOf(await requestJson(exchange(url, signal), context), id, jobId, secrets);
    },
    async download(fileId, signal, context, onLine) {
      const name = fileId.startsWith("files/") ? fileId : `files/${fileId}`;
      const present = exchange(downloadUrl(baseUrl, name), signal);
      try {
        await requestLines(present, context, onLine);
      } catch (error) {
        if (!(error instanceof EmbedError) || error.status !== 404) throw error;
        await requestLines(exchange(urlOf(baseUrl, `/${name}:download`), signal), context, onLine);
      }
    },
    parse: (line) => parsed(line, secrets),
  };
}

function uploadUrl(baseUrl: string): string {
  const url = new URL(
    baseUrl.endsWith("/v1beta") ? baseUrl.replace(/\/v1beta$/, "/upload/v1beta") : `${baseUrl}/upload`,
  );
  url.searchParams.set("uploadType", "multipart");
  return urlOf(url.href, "/files");
}

function downloadUrl(baseUrl: string, name: string): string {
  const url = new URL(urlOf(baseUrl.replace(/\/v1beta$/, "/download/v1beta"), `/${name}:download`));
  url.searchParams.set("alt", "media");
  return url.href;
}

type Operation = {
  done?: unknown;
  state?: unknown;
  metadata?: { state?: unknown; output?: { responsesFile?: unknown } };
  response?: { responsesFile?: unknown };
  outputConfig?: { file?: unknown; fileId?: unknown };
  error?: { message?: unknown };
};

function stateOf(reply: unknown, provider: string, jobId: string, secrets: readonly string[]): JobState {
  const { done, state, metadata, response, outputConfig, error } = (reply ?? {}) as Operation;
  const named = metadata?.state ?? state;
  const word = typeof named === "string" ? named.replace(/^(BATCH|JOB)_STATE_/, "") : "";
  if (FAILED.has(word) || (done === true && error !== undefined)) {
    const detail = typeof error?.message === "string" ? `: ${error.message}` : "";
    return { state: "failed", reason: redacted(`${provider} batch ${jobId} ${word.toLowerCase()}${detail}`, secrets) };
  }
  if (!DONE.has(word) && done !== true) return { state: "pending" };
  const files = [
    outputConfig?.file,
    outputConfig?.fileId,
    metadata?.output?.responsesFile,
    response?.responsesFile,
  ].filter((file) => typeof file === "string");
  return { state: "done", files: files.slice(0, 1) };
}

type Embedding = { values?: unknown };
type Line = {
  key?: unknown;
  custom_id?: unknown;
  request_id?: unknown;
  embedding?: Embedding;
  response?: { embedding?: Embedding };
  error?: { message?: unknown };
};

function parsed(value: unknown, secrets: readonly string[]): JobLine | null {
  const line = (value ?? {}) as Line;
  const key = line.key ?? line.custom_id ?? line.request_id;
  if (typeof key !== "string") return null;
  const vector = line.embedding?.values ?? line.response?.embedding?.values;
  if (line.error === undefined && vector !== undefined) return { key, vector };
  const message = line.error?.message;
  return { key, error: redacted(typeof message === "string" ? message : "no embedding", secrets) };
}
