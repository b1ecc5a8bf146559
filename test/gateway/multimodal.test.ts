// Pictures and sounds below extra paths, embedded by Gemini, found by a question in words.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Server } from "bun";
import { type Client, makeHome, startRpc } from "./client.ts";

/** Directions of meaning that the stand-in knows: words and the bytes of the files share them. */
const TOPICS = [/sunset|\bevening\b/i, /siren|\balarm\b/i, /invoice|\bbill\b/i];

const byName = (a = "", b = ""): number => a.localeCompare(b);

type Part = { text?: string; inlineData?: { mimeType: string; data: string } };

function vectorOf(parts: Part[]): number[] {
  const media = parts.flatMap(({ inlineData }) => (inlineData === undefined ? [] : [atob(inlineData.data)]));
  const said = media.length > 0 ? media.join(" ") : parts.map(({ text }) => text ?? "").join(" ");
  const values = Array.from({ length: 768 }, () => 0);
  for (const [n, topic] of TOPICS.entries()) if (topic.test(said)) values[n] = 1;
  values[TOPICS.length] = 0.05;
  return values;
}

let server: Server<undefined>;
let client: Client;
const embedded: Part[][] = [];
let home: { workspace: string; stateDir: string };

beforeAll(async () => {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = (await request.json()) as {
        content?: { parts: Part[] };
        requests?: { content: { parts: Part[] } }[];
      };
      if (request.headers.get("x-goog-api-key") !== "a-gemini-key-000000") return new Response("no", { status: 401 });
      if (body.requests === undefined)
        return Response.json({ embedding: { values: vectorOf(body.content?.parts ?? []) } });
      const all = body.requests.map(({ content }) => content.parts);
      embedded.push(...all);
      return Response.json({ embeddings: all.map((parts) => ({ values: vectorOf(parts) })) });
    },
  });
  home = makeHome({ "MEMORY.md": "# Notes\n- The bill of the plumber is paid.\n" });
  const assets = join(home.workspace, "..", "assets");
  mkdirSync(assets);
  const png = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  writeFileSync(join(assets, "IMG_1.png"), Buffer.concat([png, Buffer.from("sunset over the bay")]));
  writeFileSync(join(assets, "rec.wav"), Buffer.from("RIFF\x24\0\0\0WAVEfmt siren", "latin1"));
  writeFileSync(join(assets, "huge.png"), Buffer.concat([png, Buffer.alloc(5000)]));
  writeFileSync(join(assets, "fake.png"), "sunset, but no picture");
  client = startRpc();
  await client.call("initialize", { ...home, watch: false, config: configuration() });
  await client.call("memory.index");
});
afterAll(async () => {
  await client.end();
  await server.stop(true);
});

function configuration(changes: object = {}): object {
  return {
    agents: {
      defaults: {
        memorySearch: {
          provider: "gemini",
          model: "gemini-embedding-2-preview",
          outputDimensionality: 768,
          extraPaths: ["../assets"],
          multimodal: { enabled: true, modalities: ["image", "audio"], maxFileBytes: 2000 },
          remote: { baseUrl: `http://127.0.0.1:${server.port}/v1beta`, apiKey: "a-gemini-key-000000" },
          ...changes,
        },
      },
    },
  };
}

test("a picture and a sound are found by what they show and sound like", async () => {
  const best = async (query: string): Promise<{ path: string; snippet: string }> =>
    (await client.call("memory.search", { query, maxResults: 1, minScore: 0.3 })).results[0];
  expect(await best("a lovely evening")).toMatchObject({ path: "../assets/IMG_1.png" });
  expect((await best("a lovely evening")).snippet).toContain("Image file: ../assets/IMG_1.png");
  expect(await best("was there an alarm")).toMatchObject({ path: "../assets/rec.wav" });
  const media = embedded.filter((parts) => parts.some(({ inlineData }) => inlineData !== undefined));
  expect(
    media.map((parts) => parts.find(({ inlineData }) => inlineData)?.inlineData?.mimeType).toSorted(byName),
  ).toEqual(["audio/wav", "image/png"]);
});

test("what is too large or no picture is left out, and no binary file is handed out", async () => {
  const status = await client.call("memory.status");
  expect(status.files).toBe(3);
  const read = await client.call("memory.get", { path: "../assets/IMG_1.png" });
  expect(read).toMatchObject({ text: "", disabled: true });
});

test("multimodal memory without Gemini is refused, and a fallback left out, in words", async () => {
  const openai = startRpc();
  await openai.call("initialize", { ...home, watch: false, config: configuration({ provider: "openai" }) });
  const answer = await openai.call("memory.search", { query: "evening" });
  expect(answer).toMatchObject({ results: [], unavailable: true });
  expect(answer.error).toContain("multimodal requires");
  await openai.end();
  const fallback = startRpc();
  await fallback.call("initialize", { ...home, watch: false, config: configuration({ fallback: "openai" }) });
  const status = await fallback.call("memory.status");
  expect(JSON.stringify(status.issues)).toContain("does not support fallback");
  await fallback.end();
});

test("a named provider that could not embed the notes makes a search unavailable, and says why", async () => {
  const broken = makeHome({ "MEMORY.md": "# Notes\n- The bill of the plumber is paid.\n" });
  const other = startRpc();
  const remote = { baseUrl: `http://127.0.0.1:${server.port}/v1beta`, apiKey: "another-key-111111" };
  await other.call("initialize", { ...broken, watch: false, config: configuration({ remote }) });
  await other.call("memory.index");
  const answer = await other.call("memory.search", { query: "plumber" });
  expect(answer).toMatchObject({ results: [], unavailable: true });
  expect(answer.error).toContain("401");
  expect(JSON.stringify(answer)).not.toContain("another-key");
  await other.end();
});
