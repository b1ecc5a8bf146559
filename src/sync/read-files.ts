import { availableParallelism } from "node:os";
import type { Collection, Home } from "../home/types.ts";
import type { ReadDocument } from "./read-document.ts";
import type { ScannedFile } from "./scan.ts";
import { openWorker } from "./worker-thread.ts";

/** A file to read. `knownHash`: what the index holds of it; a file that still has this hash is not cut. */
export type FileToRead = { file: ScannedFile; knownHash: string | null };

export type FilesToRead = { home: Home; collection: Collection; files: readonly FileToRead[] };

/** From so many files on, a second thread is worth its start. */
const MANY_FILES = 400;
const GROUP = 40;
/** Groups under way: enough that neither side waits, few enough to bound memory. */
const GROUPS_AHEAD = 4;

/**
 * Reads files, in order. Of many files a process that does nothing else reads in a second thread while this one writes; the sync
 * Worker of a living process does not, so that a core is left for its searches.
 */
export async function* readFiles(work: FilesToRead): AsyncGenerator<ReadDocument> {
  if (work.files.length === 0) return;
  const alone = !Bun.isMainThread || work.files.length < MANY_FILES || availableParallelism() < 2;
  yield* alone ? readHere(work) : readBeside(work);
}

async function* readHere({ files, home, collection }: FilesToRead): AsyncGenerator<ReadDocument> {
  // Loaded when there is something to read: what cuts and tokenises takes longer to load than an unchanged folder to look at.
  const { readDocument } = await import("./read-document.ts");
  for (const { file, knownHash } of files) yield await readDocument(file, { home, collection, knownHash });
}

async function* readBeside({ files, home, collection }: FilesToRead): AsyncGenerator<ReadDocument> {
  const thread = openWorker();
  const arrived = new Map<number, ReadDocument[]>();
  let wake = Promise.withResolvers<void>();
  thread.onMessage((message) => {
    if (message.type !== "read") return;
    arrived.set(message.group, message.documents);
    wake.resolve();
  });
  const groups = Math.ceil(files.length / GROUP);
  const partOf = (group: number): readonly FileToRead[] => files.slice(group * GROUP, (group + 1) * GROUP);
  let next = 0;
  let asked = 0;
  const ask = (): void => {
    for (; asked < GROUPS_AHEAD && next < groups; asked++, next++) {
      thread.send({ type: "read", group: next, home, collection, files: partOf(next) });
    }
  };
  const here = new Set<number>();
  try {
    for (let group = 0; group < groups; group++) {
      ask();
      while (!arrived.has(group)) {
        // This thread reads too where it would only wait, but not so far ahead that much has to be kept.
        if (next < groups && here.size < GROUPS_AHEAD) {
          const own = next++;
          here.add(own);
          arrived.set(own, await Array.fromAsync(readHere({ files: partOf(own), home, collection })));
          await new Promise((resolve) => void setImmediate(resolve));
          continue;
        }
        wake = Promise.withResolvers();
        await Promise.race([wake.promise, thread.crashed]);
      }
      if (!here.delete(group)) asked--;
      yield* arrived.get(group) ?? [];
      arrived.delete(group);
    }
  } finally {
    thread.end();
  }
}
