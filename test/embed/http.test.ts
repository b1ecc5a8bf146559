import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { redacted, shortBody } from "../../src/embed/errors.ts";
import { retryAfter } from "../../src/embed/exchange.ts";
import { guardedFetch, httpContext, type Fetch } from "../../src/embed/http.ts";
import { isPrivateHost } from "../../src/embed/hosts.ts";
import { proxyFor } from "../../src/embed/proxy.ts";
import { failure, never } from "./harness.ts";

type Sent = { url: string; method: string; headers: Record<string, string>; body: unknown; proxy: unknown };

/** A network in which each address answers with a redirect, or with 200 where there is none. */
function network(redirects: Record<string, [number, string]>, lookup: Record<string, string[]> = {}) {
  const sent: Sent[] = [];
  const fetch: Fetch = (url, init) => {
    const { method = "GET", headers, body, proxy } = init as RequestInit & { proxy?: unknown };
    sent.push({ url, method, headers: headers as Record<string, string>, body, proxy });
    const [status, location] = redirects[url] ?? [200, ""];
    return Promise.resolve(new Response("ok", { status, headers: location ? { Location: location } : {} }));
  };
  const context = httpContext({ fetch, env: {}, lookup: (host) => Promise.resolve(lookup[host] ?? ["203.0.113.9"]) });
  return { sent, context };
}

const post = (url: string) => ({
  method: "POST" as const,
  url,
  headers: { "Content-Type": "application/json", Authorization: "Bearer k", "X-Team": "t" },
  body: "{}",
  signal: never(),
  secrets: ["k"],
});

describe("redirects", () => {
  test("to the same origin keep everything", async () => {
    const { sent, context } = network({ "https://a.example/v1": [308, "/v2"] });
    expect((await guardedFetch(post("https://a.example/v1"), context)).status).toBe(200);
    expect(sent[1]).toMatchObject({ url: "https://a.example/v2", method: "POST", body: "{}" });
    expect(sent[1]?.headers["Authorization"]).toBe("Bearer k");
  });

  test.each([
    ["another host", "https://b.example/v1"],
    ["another port", "https://a.example:8443/v1"],
    ["a subdomain", "https://x.a.example/v1"],
    ["a target with credentials of its own", "https://u:p@b.example/v1"],
  ])("to %s leave keys and configured headers behind", async (_what, target) => {
    const { sent, context } = network({ "https://a.example/v1": [307, target] });
    await guardedFetch(post("https://a.example/v1"), context);
    expect(sent[1]?.headers).toEqual({ "Content-Type": "application/json" });
    expect(sent[1]?.url).not.toContain("u:p@");
  });

  test("from http to https at the same host leave keys behind too: it is another origin", async () => {
    const { sent, context } = network({ "http://a.example/v1": [301, "https://a.example/v1"] });
    await guardedFetch(post("http://a.example/v1"), context);
    expect(sent[1]?.headers["Authorization"]).toBeUndefined();
  });

  test("back to the first origin do not bring the key back", async () => {
    const { sent, context } = network({
      "https://a.example/v1": [307, "https://b.example/"],
      "https://b.example/": [307, "https://a.example/v2"],
    });
    await guardedFetch(post("https://a.example/v1"), context);
    expect(sent[2]?.headers["Authorization"]).toBeUndefined();
  });

  test("end after three", async () => {
    const { sent, context } = network({ "https://a.example/": [302, "https://a.example/"] });
    expect((await failure(guardedFetch(post("https://a.example/"), context))).message).toContain("more than 3 times");
    expect(sent.length).toBe(4);
  });

  test.each([
    ["http://b.example/", "not encrypted"],
    ["https://169.254.169.254/latest", "private network"],
    ["https://localhost:8080/", "private network"],
    ["https://[::1]/", "private network"],
    ["https://10.1.2.3/", "private network"],
    ["https://sneaky.example/", "private network"],
    ["file:///etc/passwd", "not an http"],
  ])("to %s are refused", async (target, why) => {
    const { sent, context } = network({ "https://a.example/": [302, target] }, { "sneaky.example": ["192.168.0.9"] });
    expect((await failure(guardedFetch(post("https://a.example/"), context))).message).toContain(why);
    expect(sent.length).toBe(1);
  });

  test("303 becomes a GET without a body", async () => {
    const { sent, context } = network({ "https://a.example/": [303, "/done"] });
    await guardedFetch(post("https://a.example/"), context);
    expect(sent[1]).toMatchObject({ method: "GET", body: undefined });
  });
});

describe("proxies", () => {
  const env = {
    HTTPS_PROXY: "http://proxy:3128",
    http_proxy: "proxy:8080",
    NO_PROXY: "corp.example, .in.example,1.2.3.4:444",
  };
  test.each([
    ["https://api.example/", "http://proxy:3128"],
    ["http://api.example/", "http://proxy:8080"],
    ["https://corp.example/", false],
    ["https://a.corp.example/", false],
    ["https://notcorp.example/", "http://proxy:3128"],
    ["https://x.in.example/", false],
    ["https://1.2.3.4:444/", false],
    ["https://1.2.3.4/", "http://proxy:3128"],
    ["http://127.0.0.1:1234/", false],
    ["http://localhost:1234/", false],
    ["http://[::1]:1234/", false],
    ["http://[::ffff:127.0.0.1]:1234/", false],
  ] as [string, string | false][])("%s → %s", (url, proxy) => {
    expect(proxyFor(new URL(url), env)).toBe(proxy);
  });

  test("* exempts all, and no setting is no proxy", () => {
    expect(proxyFor(new URL("https://x.example"), { ...env, no_proxy: "*" })).toBe(false);
    expect(proxyFor(new URL("https://x.example"), {})).toBe(false);
    expect(proxyFor(new URL("https://x.example"), { ALL_PROXY: "http://all:1" })).toBe("http://all:1");
  });

  test("requests really go through it", async () => {
    const seen: string[] = [];
    const proxy = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        seen.push(request.url);
        return new Response("via proxy");
      },
    });
    const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
    const response = await guardedFetch(post("http://far.example/v1"), httpContext({ env }));
    expect(await response.text()).toBe("via proxy");
    expect(seen).toEqual(["http://far.example/v1"]);
    await proxy.stop(true);
  });
});

test("private addresses in all their spellings", () => {
  const yes = [
    "127.9.9.9",
    "10.0.0.1",
    "172.31.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "[::1]",
  ];
  yes.push("[fe80::1]", "[fd12::1]", "[::ffff:10.0.0.1]", "[::ffff:a00:1]", "metadata.google.internal", "nas.local");
  for (const host of yes) expect([host, isPrivateHost(host)]).toEqual([host, true]);
  for (const host of ["8.8.8.8", "172.32.0.1", "100.128.0.1", "[2606:4700::1]", "api.openai.com", "local.example"]) {
    expect([host, isPrivateHost(host)]).toEqual([host, false]);
  }
});

describe("Retry-After", () => {
  const now = Date.parse("2026-03-01T12:00:00Z");
  test.each([
    ["20", 20_000],
    ["0.5", 500],
    ["Sun, 01 Mar 2026 12:00:30 GMT", 30_000],
    ["Sun, 01 Mar 2026 11:00:00 GMT", 0],
    ["soon", undefined],
    [null, undefined],
  ] as [string | null, number | undefined][])("%s", (header, ms) => {
    expect(retryAfter(header, now)).toBe(ms as number);
  });
});

describe("keys in words", () => {
  test("a secret is gone from any text, however it is written", () => {
    const secret = fc.string({ minLength: 8, maxLength: 40 }).filter((text) => text.trim().length >= 8);
    fc.assert(
      fc.property(fc.string(), secret, fc.string(), (before, key, after) => {
        for (const form of [key, JSON.stringify(key).slice(1, -1), Buffer.from(key).toString("base64")]) {
          expect(redacted(`${before} ${form} ${after}`, [key]).split("[redacted]").join("")).not.toContain(form);
        }
      }),
    );
  });

  test.each([
    "Incorrect API key provided: sk-abcd1234****************wxyz.",
    '{"headers":{"authorization":"Bearer abcdef123456"}}',
    "https://host/v1?api_key=abcdef123456&x=1",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv is not valid",
    "token: ghp_abcdefghijklmnop1234",
  ])("what looks like a key is gone: %s", (text) => {
    expect(redacted(text, [])).not.toMatch(/abcd1234|abcdef123456|AIzaSy|ghp_/);
    expect(redacted(text, [])).toContain("[redacted]");
  });

  test("plain sentences stay as they are", () => {
    const text = "Rate limit reached for text-embedding-3-small. The token limit is 8192, the maximum key count 5.";
    expect(redacted(text, ["supersecretkey"])).toBe(text);
  });

  test("a long body is cut after redaction, so that no half of a key stays", () => {
    const key = "secret-0123456789";
    const body = `${"x".repeat(292)}${key}`;
    expect(shortBody(body, [key])).not.toContain("secret");
    expect(shortBody(body, [key]).length).toBeLessThanOrEqual(300);
  });
});
