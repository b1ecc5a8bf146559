import { availableParallelism } from "node:os";
import type { Collection, Home } from "../home/types.ts";
import { readDocument, type ReadDocument } from "./read-document.ts";
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
export function readFiles(work: FilesToRead): AsyncGenerator<ReadDocument> {
  const alone = !Bun.isMainThread || work.files.length < MANY_FILES || availableParallelism() < 2;
  return alone ? readHere(work) : readBeside(work);
}

async function* readHere({ files, home, collection }: FilesToRead): AsyncGenerator<ReadDocument> {
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
  const ask = (group: number): void => {
    const part = files.slice(group * GROUP, (group + 1) * GROUP);
    if (part.length > 0) thread.send({ type: "read", group, home, collection, files: part });
  };
  try {
    for (let group = 0; group < GROUPS_AHEAD; group++) ask(group);
    for (let group = 0; group * GROUP < files.length; group++) {
      while (!arrived.has(group)) {
        wake = Promise.withResolvers();
        await Promise.race([wake.promise, thread.crashed]);
      }
      ask(group + GROUPS_AHEAD);
      yield* arrived.get(group) ?? [];
      arrived.delete(group);
    }
  } finally {
    thread.end();
  }
}
