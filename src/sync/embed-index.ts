import { openProvider } from "../embed/registry.ts";
import { MemqError, messageOf } from "../errors.ts";
import type { Home } from "../home/types.ts";
import { withWriterLock } from "../store/lock.ts";
import { openIndex } from "../store/open.ts";
import { clearVectors } from "../store/vectors.ts";
import { embedMissing, type EmbedResult } from "./embed-missing.ts";
import type { SyncProgress } from "./report.ts";
import { lockedPath } from "./sync-lock.ts";

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
      if (force) await tryProvider(home, signal);
      const index = openIndex(home.indexPath, { mode: "write" });
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
        });
      } finally {
        index.close();
      }
    },
    { signal },
  );
}

/** Nothing is thrown away for a provider that does not answer. */
async function tryProvider({ embedding, kind }: Home, signal: AbortSignal): Promise<void> {
  const { provider, reason } = await openProvider(embedding, { kind });
  try {
    if (provider === undefined) throw new Error(reason ?? "Embeddings are off.");
    await provider.embedDocuments([{ text: "A first text." }], signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new MemqError("EMBED_UNAVAILABLE", messageOf(error), { cause: error });
  } finally {
    await provider?.close();
  }
}
