import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { MemqError } from "../errors.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";

/** A running Worker. `crashed` never resolves; it rejects with `SYNC_CRASHED` when the Worker dies before `end`. */
export type WorkerThread = {
  send(message: ToWorker): void;
  onMessage(listener: (message: FromWorker) => void): void;
  crashed: Promise<never>;
  end(): void;
};

/** What a sync has open at once, and some to spare for others. */
const FILES_NEEDED = 12;

/** Starts a Worker that runs `worker.ts`. Throws `EMFILE` where the process may not open so many files more. */
export function openWorker(): WorkerThread {
  throwUnlessFilesAreLeft();
  const worker = new Worker(workerLocation());
  const { promise: crashed, reject } = Promise.withResolvers<never>();
  // Whether anybody waits for it is the caller's affair.
  crashed.catch(() => {});
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    reject(crash(event.message));
  });
  worker.addEventListener("close", () => reject(crash("its thread ended")));
  return {
    crashed,
    send: (message) => worker.postMessage(message, []),
    onMessage: (listener) =>
      worker.addEventListener("message", (event: MessageEvent<FromWorker>) => listener(event.data)),
    end: () => worker.terminate(),
  };
}

/** A thread that finds no file left to open for itself ends the whole process: so the runtime has it. */
function throwUnlessFilesAreLeft(): void {
  const opened: number[] = [];
  try {
    while (opened.length < FILES_NEEDED) opened.push(openSync(devNull, "r"));
  } catch (error) {
    // What could not be opened here is nothing to people.
    throw Object.assign(error as NodeJS.ErrnoException, { path: undefined });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** Where the Worker's code is: beside this file, or in the executable, whose modules are flattened but for entry points. */
function workerLocation(): string | URL {
  return import.meta.url.includes("/$bunfs/") ? "/$bunfs/root/sync/worker.js" : new URL("./worker.ts", import.meta.url);
}

function crash(reason: string): MemqError {
  return new MemqError("SYNC_CRASHED", `The sync ended unexpectedly: ${reason.split("\n")[0] ?? ""}.`, {
    hint: "What it wrote so far stays; the next sync goes on from there.",
  });
}
