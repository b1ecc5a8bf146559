import type { EmbeddingSettings } from "../home/types.ts";
import { modelHost, type ModelHost } from "../llama/client.ts";
import type { DownloadProgress } from "../llama/download.ts";
import { ggufDigest } from "../llama/gguf.ts";
import { modelFolders, presentModel, pullModel, type ModelFolders } from "../llama/models.ts";
import { MemqError, messageOf } from "../errors.ts";
import { withoutCredentials } from "../printable.ts";
import { cutToBytes } from "./batches.ts";
import { EmbedError } from "./errors.ts";
import { fingerprintOf, qmdFingerprint, type VectorSpace } from "./identity.ts";
import { promptFormOf } from "./prompts.ts";
import { DEFAULT_AGENT_MODEL, DEFAULT_QMD_MODELS } from "./spec.ts";
import type { EmbedInput, EmbedReport, EmbeddingProvider } from "./types.ts";
import { createWaiting, type Tell } from "./waiting.ts";

/** Texts in one request to the model host: what is lost at most when it dies. */
const BATCH_SIZE = 16;
/** More is never read: the model's own limit is in tokens, and this only keeps a huge text from being tokenised for nothing. */
const MAX_INPUT_BYTES = 65_536;
const DEFAULT_CONTEXT_SIZE = 2048;
const TOLD_AGAIN_MS = 10_000;

/**
 * Opens the GGUF model that `settings.local.modelPath` names, or the default one of this kind of home. A model of the hub is
 * downloaded when documents are embedded, never for a question. Throws `EMBED_UNAVAILABLE` when a file is missing.
 */
export async function openLocalProvider(
  settings: EmbeddingSettings,
  kind: "agent" | "qmd",
): Promise<EmbeddingProvider> {
  const { modelCacheDir, threads } = settings.local;
  const space = localSpace(settings, kind);
  const spec = space.model;
  const contextSize = settings.local.contextSize ?? environmentContextSize() ?? DEFAULT_CONTEXT_SIZE;
  const model = await unavailableOnError(async () => namedModel(spec, modelFolders(kind, modelCacheDir), threads));
  const form = promptFormOf(spec, kind);
  const shown = withoutCredentials(spec);
  const waiting = createWaiting({ first: `the model host to load ${shown}`, later: `the model host with ${shown}` });
  return {
    ...space,
    local: true,
    maxInputBytes: MAX_INPUT_BYTES,
    media: false,
    async embedQuery(text, signal) {
      if (text.trim() === "") return new Float32Array(0);
      return unavailableOnError(async () => {
        const query = form.query(cutToBytes(text, MAX_INPUT_BYTES));
        const [vector] = await model.host().embed(model.present(), [query], { signal, contextSize, bulk: false });
        return vector ?? new Float32Array(0);
      }, signal);
    },
    embedDocuments: (inputs, signal, report = {}) =>
      unavailableOnError(async () => {
        const path = await model.pulled(signal, report.onWait);
        const dress = ({ text, title }: EmbedInput) => form.document(cutToBytes(text, MAX_INPUT_BYTES), title);
        const embed = async (texts: string[]): Promise<Float32Array[]> => {
          const vectors = await model.host().embed(path, texts, { signal, contextSize, bulk: true });
          waiting.heard();
          return vectors;
        };
        return waiting.during(report.onWait, () => embedInBatches(inputs, dress, report, embed));
      }, signal),
    async close() {
      model.close();
    },
  };
}

/** What identifies the vectors of the GGUF model that settings name, whether or not its file is here. */
export function localSpace(settings: EmbeddingSettings, kind: "agent" | "qmd"): VectorSpace {
  const spec = settings.local.modelPath?.trim() || (kind === "qmd" ? DEFAULT_QMD_MODELS.embed : DEFAULT_AGENT_MODEL);
  const form = promptFormOf(spec, kind);
  const space = {
    id: "local",
    model: spec,
    endpoint: "",
    dimensions: null,
    documentInputType: null,
    promptForm: form.name,
  };
  const folders = modelFolders(kind, settings.local.modelCacheDir);
  return {
    ...space,
    fingerprint: kind === "qmd" ? qmdFingerprint(spec, form) : fingerprintOf(space),
    weights: () => weightsOf(spec, folders),
  };
}

/** Undefined for a model that is not here; a name that names none is told of where the model is opened. */
function weightsOf(spec: string, folders: ModelFolders): string | undefined {
  try {
    const path = presentModel(spec, folders);
    return path === null ? undefined : ggufDigest(path);
  } catch {
    return undefined;
  }
}

type NamedModel = {
  host(): ModelHost;
  /** Path of the file when it is here. */
  present(): string;
  /** The same, downloaded first where that is possible. */
  pulled(signal: AbortSignal, tell: Tell | undefined): Promise<string>;
  close(): void;
};

function namedModel(spec: string, folders: ModelFolders, threads: number | undefined): NamedModel {
  const present = () => {
    const path = presentModel(spec, folders);
    if (path !== null) return path;
    throw new MemqError("MODEL_MISSING", `The model ${withoutCredentials(spec)} is not on this machine.`, {
      hint: "Index once while online, or run `pull`, to download it; or give the path of a GGUF file.",
    });
  };
  // A missing file stays missing: better said when the provider is opened than at each question.
  if (!/^(hf|huggingface|https?)[:.]/i.test(spec)) present();
  let host: ModelHost | undefined;
  return {
    host: () => (host ??= modelHost({ modelsFolder: folders.own, ...(threads === undefined ? {} : { threads }) })),
    present,
    pulled: async (signal, tell) => {
      const onWait = (): void => tell?.("Waiting for another process that is downloading a model.");
      return (await pullModel(spec, folders, { signal, onWait, onProgress: downloadTold(tell) })).path;
    },
    close: () => host?.close(),
  };
}

/** Tells of a download when it begins, and every ten seconds how far it is. */
function downloadTold(tell: Tell | undefined): (progress: DownloadProgress) => void {
  let toldAt = -Infinity;
  return ({ file, received, total }) => {
    const now = performance.now();
    if (now - toldAt < TOLD_AGAIN_MS) return;
    toldAt = now;
    const megabytes = (bytes: number): number => Math.round(bytes / 1e6);
    tell?.(`Downloading ${file}: ${megabytes(received)}${total > 0 ? ` of ${megabytes(total)}` : ""} MB.`);
  };
}

async function embedInBatches(
  inputs: readonly EmbedInput[],
  dress: (input: EmbedInput) => string,
  report: EmbedReport,
  embed: (texts: string[]) => Promise<Float32Array[]>,
): Promise<Float32Array[]> {
  const vectors: Float32Array[] = inputs.map(() => new Float32Array(0));
  const wanted: number[] = [];
  for (const [index, input] of inputs.entries()) {
    if (input.media !== undefined) refuse(index, report);
    else if (input.text.trim() !== "") wanted.push(index);
  }
  for (let start = 0; start < wanted.length; start += BATCH_SIZE) {
    const indices = wanted.slice(start, start + BATCH_SIZE);
    const made = await embed(indices.map((index) => dress(inputs[index] ?? { text: "" })));
    for (const [place, index] of indices.entries()) vectors[index] = made[place] ?? new Float32Array(0);
    await report.onVectors?.(indices, made);
  }
  return vectors;
}

function refuse(index: number, report: EmbedReport): void {
  const error = new EmbedError("refused", "A local model embeds no pictures or sounds.");
  if (report.onRejected === undefined) throw error;
  report.onRejected(index, error);
}

function environmentContextSize(): number | undefined {
  const size = Number(process.env["QMD_EMBED_CONTEXT_SIZE"]);
  return Number.isInteger(size) && size > 0 ? size : undefined;
}

/** Whatever goes wrong with a local model means that there are no embeddings now; an aborted call keeps its reason. */
async function unavailableOnError<T>(work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof EmbedError) throw error;
    const hint = error instanceof MemqError ? error.hint : undefined;
    throw new EmbedError("fatal", `Local embeddings unavailable. Reason: ${messageOf(error)}`, { hint });
  }
}
