import { asMemqError } from "../errors.ts";
import { vecExtensionPath } from "../llama/native.ts";
import { expectMuchWork } from "../long-running.ts";
import { setVecLoader } from "../store/vec-extension.ts";
import { readDocument } from "./read-document.ts";
import type { FromWorker, ToWorker } from "./worker-messages.ts";
import { syncLockedIndex } from "./sync.ts";

// The whole Worker: one sync with a connection of its own, or reading for a sync in another thread; it is ended from outside.
declare const self: Worker;

setVecLoader(vecExtensionPath);
expectMuchWork();
const cancelled = new AbortController();

function send(message: FromWorker): void {
  self.postMessage(message, []);
}

async function run(message: Extract<ToWorker, { type: "start" }>): Promise<void> {
  try {
    const report = await syncLockedIndex(message.home, {
      ...message.options,
      signal: cancelled.signal,
      onProgress: (progress) => send({ type: "progress", progress }),
    });
    send({ type: "done", report });
  } catch (error) {
    const { code, message, hint, exitCode } = asMemqError(error);
    send({ type: "failed", error: { code, message, exitCode, ...(hint === undefined ? {} : { hint }) } });
  }
}

async function read({ group, home, collection, files }: Extract<ToWorker, { type: "read" }>): Promise<void> {
  const documents = [];
  for (const { file, knownHash } of files) documents.push(await readDocument(file, { home, collection, knownHash }));
  send({ type: "read", group, documents });
}

self.addEventListener("message", (event: MessageEvent<ToWorker>) => {
  if (event.data.type === "cancel") cancelled.abort();
  else if (event.data.type === "read") void read(event.data);
  else void run(event.data);
});
