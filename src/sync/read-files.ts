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
/** A group of files is read in one go; it ends with the file that makes it as large as this. */
const GROUP_FILES = 40;
const GROUP_BYTES = 1_000_000;
/** What each thread may be ahead with: twice what is written at once, so that neither waits for the other, but no gigabytes of large files. */
const GROUPS_AHEAD = 12;
const BYTES_AHEAD = 24_000_000;

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
  const groups = groupsOf(files);
  let next = 0;
  const there = new Ahead(groups);
  const ask = (): void => {
    for (; there.hasRoomFor(next); next++) {
      there.add(next);
      thread.send({ type: "read", group: next, home, collection, files: groups[next]! });
    }
  };
  const here = new Ahead(groups);
  try {
    for (let group = 0; group < groups.length; group++) {
      ask();
      while (!arrived.has(group)) {
        // This thread reads too where it would only wait.
        if (here.hasRoomFor(next)) {
          const own = next++;
          here.add(own);
          arrived.set(own, await Array.fromAsync(readHere({ files: groups[own]!, home, collection })));
          await new Promise((resolve) => void setImmediate(resolve));
          continue;
        }
        wake = Promise.withResolvers();
        await Promise.race([wake.promise, thread.crashed]);
      }
      for (const side of [there, here]) side.remove(group);
      yield* arrived.get(group) ?? [];
      arrived.delete(group);
    }
  } finally {
    thread.end();
  }
}

/** Files in groups, in their order. */
function groupsOf(files: readonly FileToRead[]): FileToRead[][] {
  const groups: FileToRead[][] = [];
  let group: FileToRead[] = [];
  for (const file of files) {
    if (group.length === 0) groups.push(group);
    group.push(file);
    if (group.length === GROUP_FILES || bytesOf(group) >= GROUP_BYTES) group = [];
  }
  return groups;
}

function bytesOf(group: readonly FileToRead[]): number {
  return group.reduce((sum, { file }) => sum + file.size, 0);
}

/** The groups that one thread has been given and that have not been passed on. */
class Ahead {
  private readonly bytes = new Map<number, number>();

  constructor(private readonly groups: readonly FileToRead[][]) {}

  hasRoomFor(group: number): boolean {
    const files = this.groups[group];
    if (files === undefined || this.bytes.size === 0) return files !== undefined;
    const held = this.bytes.values().reduce((sum, bytes) => sum + bytes, 0);
    return this.bytes.size < GROUPS_AHEAD && held + bytesOf(files) <= BYTES_AHEAD;
  }

  add(group: number): void {
    this.bytes.set(group, bytesOf(this.groups[group]!));
  }

  remove(group: number): void {
    this.bytes.delete(group);
  }
}
