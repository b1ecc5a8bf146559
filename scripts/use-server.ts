#!/usr/bin/env bun
// A real sentence embedder behind OpenAI's interface, for measuring hybrid search: bun scripts/use-server.ts [--port N] [--end-with-input]
// Prints its base URL as the first line on stdout and serves until it is ended, or until its input is.
import { parseArgs } from "node:util";
import { openSentenceModel } from "./use/model.ts";
import { openVectorFile } from "./use/vector-file.ts";

const { values } = parseArgs({
  options: { port: { type: "string", default: "0" }, "end-with-input": { type: "boolean", default: false } },
});
const model = await openSentenceModel();
const vectors = openVectorFile(model.folder, model.length);
let turn = Promise.resolve();

/** The vector of a text, from the file or made now; one text at a time, since the model keeps one core busy. */
async function vectorOf(text: string): Promise<number[]> {
  const known = vectors.get(text);
  if (known !== null) return known;
  const made = turn.then(() => vectors.get(text) ?? model.embed(text));
  turn = made.then(
    () => undefined,
    () => undefined,
  );
  const vector = await made;
  vectors.put(text, vector);
  return vector;
}

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method !== "POST" || pathname !== "/v1/embeddings") return new Response("not found", { status: 404 });
  const { input } = (await request.json()) as { input?: unknown };
  const texts = typeof input === "string" ? [input] : input;
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string" && text !== "")) {
    return Response.json({ error: { message: "input must be a text or a list of texts" } }, { status: 400 });
  }
  const data: object[] = [];
  for (const [index, text] of (texts as string[]).entries()) {
    data.push({ object: "embedding", index, embedding: await vectorOf(text) });
  }
  return Response.json({ object: "list", model: "use-lite", data, usage: { prompt_tokens: 0, total_tokens: 0 } });
}

const server = Bun.serve({ hostname: "127.0.0.1", port: Number(values.port), idleTimeout: 0, fetch: answer });
console.log(`http://127.0.0.1:${server.port}/v1`);
if (values["end-with-input"]) process.stdin.on("end", () => process.exit(0)).resume();
