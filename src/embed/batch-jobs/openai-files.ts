import { urlOf } from "../connection.ts";
import { EmbedError, redacted } from "../errors.ts";
import { requestJson, requestLines, type Exchange } from "../exchange.ts";
import { openAiBody, type OpenAiForm } from "../openai-form.ts";
import { sha256 } from "../../sha256.ts";
import { multipart } from "./multipart.ts";
import type { JobEntry, JobLine, JobService, JobState } from "./types.ts";

const FAILED = new Set(["failed", "expired", "cancelled", "canceled"]);
/** Uploads may be 200 MB; some room is left for the envelope. */
const MAX_BYTES = 190 * 1024 * 1024;

/** OpenAI's batch API: a JSON Lines file is uploaded, a batch is made of it, its output is another file. */
export function openAiJobs(form: OpenAiForm): JobService {
  return filesAndBatches(form, {
    line: ({ key, input }) => ({
      custom_id: key,
      method: "POST",
      url: "/v1/embeddings",
      body: openAiBody(form, "document", input.text),
    }),
    create: { endpoint: "/v1/embeddings", completion_window: "24h", metadata: { source: "memq" } },
  });
}

/** Voyage has the same endpoints; model and input type stand once, beside the file. */
export function voyageJobs(form: OpenAiForm): JobService {
  const { input: _input, ...params } = openAiBody(form, "document", "") as { input: unknown };
  return filesAndBatches(form, {
    line: ({ key, input }) => ({ custom_id: key, body: { input: input.text } }),
    create: {
      endpoint: "/v1/embeddings",
      completion_window: "12h",
      request_params: params,
      metadata: { source: "memq" },
    },
  });
}

function filesAndBatches(form: OpenAiForm, shape: { line(entry: JobEntry): object; create: object }): JobService {
  const { id, connection } = form;
  const { headers, secrets } = connection;
  const failure = `${id} batch failed:`;
  const exchange = (path: string, signal: AbortSignal): Exchange => {
    return { url: urlOf(connection.baseUrl, path), headers, secrets, signal, provider: id, failure };
  };
  return {
    maxRequests: 50_000,
    maxBytes: MAX_BYTES,
    line: (entry) => JSON.stringify(shape.line(entry)),
    async upload(jsonl, signal, context) {
      const { contentType, body } = multipart("form-data", [
        { headers: { "Content-Disposition": 'form-data; name="purpose"' }, text: "batch" },
        {
          headers: {
            "Content-Disposition": `form-data; name="file"; filename="memory-embeddings.${sha256(jsonl)}.jsonl"`,
            "Content-Type": "application/jsonl",
          },
          text: jsonl,
        },
      ]);
      const request = { ...exchange("/files", signal), body, headers: { ...headers, "Content-Type": contentType } };
      const { id: fileId } = (await requestJson(request, context)) as { id?: unknown };
      if (typeof fileId === "string") return fileId;
      throw new EmbedError("fatal", `${id} batch file upload failed: missing file id`);
    },
    async create(fileId, signal, context) {
      const body = { input_file_id: fileId, ...shape.create };
      const reply = (await requestJson({ ...exchange("/batches", signal), body }, context)) as { id?: unknown };
      if (typeof reply.id === "string") return reply.id;
      throw new EmbedError("fatal", `${id} batch create failed: missing batch id`);
    },
    async poll(jobId, signal, context) {
      const path = `/batches/${encodeURIComponent(jobId)}`;
      return stateOf(await requestJson(exchange(path, signal), context), id, jobId, secrets);
    },
    download: (fileId, signal, context, onLine) =>
      requestLines(exchange(`/files/${encodeURIComponent(fileId)}/content`, signal), context, onLine),
    parse: (line) => parsed(line, secrets),
  };
}

function stateOf(reply: unknown, provider: string, jobId: string, secrets: readonly string[]): JobState {
  const { status, output_file_id: output, error_file_id: errors } = (reply ?? {}) as Record<string, unknown>;
  const files = [output, errors].filter((file) => typeof file === "string" && file !== "") as string[];
  if (status === "completed") return { state: "done", files };
  if (typeof status !== "string" || !FAILED.has(status)) return { state: "pending" };
  const reason = redacted(`${provider} batch ${jobId} ${status}`, secrets);
  return { state: "failed", reason, errorFile: typeof errors === "string" ? errors : undefined };
}

type Line = {
  custom_id?: unknown;
  response?: { status_code?: unknown; body?: { data?: { embedding?: unknown }[]; error?: { message?: unknown } } };
  error?: { message?: unknown } | null;
};

function parsed(value: unknown, secrets: readonly string[]): JobLine | null {
  const { custom_id: key, response, error } = (value ?? {}) as Line;
  if (typeof key !== "string") return null;
  const status = typeof response?.status_code === "number" ? response.status_code : 200;
  const vector = response?.body?.data?.[0]?.embedding;
  const message = error?.message ?? response?.body?.error?.message;
  if (status < 400 && !message && vector !== undefined) return { key, vector };
  return { key, error: redacted(typeof message === "string" ? message : `status ${status}, no embedding`, secrets) };
}
