import { openProvider } from "../embed/registry.ts";
import { MemqError, messageOf } from "../errors.ts";
import type { Home } from "../home/types.ts";
import { withWriterLock } from "../store/lock.ts";
import { clearVectors } from "../store/vectors.ts";
import { embedMissing, type EmbedResult } from "./embed-missing.ts";
import type { SyncProgress } from "./report.ts";
import { lockedPath, openForEmbedding } from "./sync-lock.ts";

export type EmbedOptions = {
  /** Only passages of these collections. */
  collections?: readonly string[] | undefined;
  /** Embeds everything anew; what serves now goes once the provider has shown that it answers. */
  force?: boolean;
  onProgress?: (progress: SyncProgress) => void;
  signal: AbortSignal;
};

/**
 * Gives every passage of an index without a vector one, without looking at files. One process at a time embeds an index; others may
 * index and search meanwhile, since vectors arrive in short transactions and one whose passage is gone by then is only cached.
 * Throws `INDEX_BUSY` when another process embeds for longer than a writer waits.
 */
export function embedIndex(home: Home, options: EmbedOptions): Promise<EmbedResult> {
  const { collections, signal, force = false, onProgress = () => {} } = options;
  return withWriterLock(
    lockedPath(home.indexPath, []),
    async () => {
      const onWait = (waiting: string): void => onProgress({ phase: "embed", done: 0, total: 0, waiting });
      const dimensions = force ? await triedProvider(home, signal, onWait) : undefined;
      const index = await openForEmbedding(home, { signal });
      try {
        if (force) clearVectors(index, collections === undefined ? {} : { collections });
        return await embedMissing({
          home,
          index,
          force,
          signal,
          onProgress,
          skipped: [],
          warnings: [],
          collections,
          dimensions,
        });
      } finally {
        index.close();
      }
    },
    { signal },
  );
}

/** The length of the provider's vectors. Nothing is thrown away for one that does not answer. */
async function triedProvider(
  { embedding, kind }: Home,
  signal: AbortSignal,
  onWait: (sentence: string) => void,
): Promise<number | undefined> {
  const { provider, reason } = await openProvider(embedding, { kind });
  try {
    if (provider === undefined) throw new Error(reason ?? "Embeddings are off.");
    const [vector] = await provider.embedDocuments([{ text: "A first text." }], signal, { onWait });
    return vector?.length;
  } catch (error) {
    signal.throwIfAborted();
    throw new MemqError("EMBED_UNAVAILABLE", messageOf(error), { cause: error });
  } finally {
    await provider?.close();
  }
}
