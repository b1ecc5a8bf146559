// Answers that are broken below JSON, and what can't even be sent, as the one who set up the provider reads of it.
import { expect, test } from "bun:test";
import type { EmbeddingSettings } from "../../src/home/types.ts";
import { failure, KEY, never, opened, settingsFor } from "./harness.ts";

const TEXTS = [{ text: "one" }, { text: "two" }];

/** What embedding through a server that answers so comes to. */
async function embeddedBy(answer: (texts: string[]) => Response): Promise<Float32Array[]> {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => answer(((await request.json()) as { input: string[] }).input),
  });
  const settings = settingsFor({
    provider: "openai-compatible",
    model: "m",
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
  });
  try {
    return await (await opened(settings)).embedDocuments(TEXTS, never());
  } finally {
    await server.stop(true);
  }
}

test.each(["gzip", "br"])("a %s body that is broken is no missing connection", async (encoding) => {
  const error = await failure(
    embeddedBy(() => new Response("this is not packed", { headers: { "Content-Encoding": encoding } })),
  );
  expect(error.message).toMatch(/^The answer of http:\/\/127\.0\.0\.1:\d+ can't be unpacked \(/);
});

test("indices that are null count as absent", async () => {
  const vectors = await embeddedBy((texts) =>
    Response.json({ data: texts.map((text) => ({ index: null, embedding: [text.length, 2] })) }),
  );
  expect(vectors.map((vector) => vector.length)).toEqual([2, 2]);
});

test("numbers too large to compare are refused: every search would pass over them in silence", async () => {
  const error = await failure(
    embeddedBy((texts) => Response.json({ data: texts.map((_, index) => ({ index, embedding: [3e38, 1] })) })),
  );
  expect(error.message).toContain("numbers too large to compare");
});

test.each([
  ["a line break in a key", { apiKey: "first-half-0123\nsecond-half-4567" }, "The key of embedding provider"],
  [
    "letters that no header takes in a key",
    { apiKey: "\u043a\u043b\u044e\u0447-0123456789" },
    "The key of embedding provider",
  ],
  ["a line break in a configured header", { headers: { "X-Team": "a-team\r\nX-Evil: 1" } }, 'The header "X-Team" of'],
] as [string, Partial<EmbeddingSettings>, string][])(
  "%s is said before anything is sent, without it",
  async (_what, more, said) => {
    const settings = settingsFor({
      provider: "openai-compatible",
      model: "m",
      baseUrl: "http://127.0.0.1:1/v1",
      ...more,
    });
    const { message } = await failure(opened(settings));
    expect(message).toContain(said);
    expect(message).not.toMatch(/half|\u043a|Evil/);
  },
);

test("a key that ends in a line break, as one read from a file, is sent without it", async () => {
  let seen: string | null = null;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      seen = request.headers.get("authorization");
      return Response.json({ data: [{ embedding: [1, 2] }] });
    },
  });
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const provider = await opened(
    settingsFor({ provider: "openai-compatible", model: "m", baseUrl, apiKey: `${KEY}\n` }),
  );
  await provider.embedQuery("x", never());
  await server.stop(true);
  expect(seen as string | null).toBe(`Bearer ${KEY}`);
});

test("a user name with broken percent-encoding in the base URL is taken as it is", async () => {
  const settings = settingsFor({
    provider: "openai-compatible",
    model: "m",
    baseUrl: "http://me:50%off@127.0.0.1:1/v1",
  });
  expect((await opened(settings)).endpoint).toBe("http://127.0.0.1:1/v1");
});

test("a proxy that refuses is named, without its password", async () => {
  const settings = settingsFor({ provider: "openai-compatible", model: "m", baseUrl: "http://embed.example/v1" });
  for (const [proxy, named] of [
    ["http://me:proxy-password@127.0.0.1:1", "through the proxy http://127.0.0.1:1: nothing listens there"],
    [
      "socks5://me:proxy-password@127.0.0.1:1",
      "through the proxy socks5://127.0.0.1:1: it must be the address of an HTTP proxy",
    ],
  ]) {
    const provider = await opened(settings, { env: { HTTP_PROXY: proxy } });
    const { message } = await failure(provider.embedQuery("x", never()));
    expect(message).toContain(named ?? "");
    expect(message).not.toContain("proxy-password");
  }
});
