import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { openConnection } from "../../src/gateway/jsonrpc.ts";
import { isLoopback } from "../../src/embed/hosts.ts";
import { hasToken, refusalOf } from "../../src/gateway/mcp/guards.ts";
import { answerPost } from "../../src/gateway/mcp/post.ts";
import { faultIn, type ObjectSchema, withDefaults } from "../../src/gateway/mcp/schema.ts";
import type { McpSurface } from "../../src/gateway/mcp/surface.ts";
import { jsonAnswer, READ_ONLY, tool } from "../../src/gateway/mcp/surface.ts";

const SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string" },
    kind: { type: "string", enum: ["a", "b"] },
    count: { type: "integer", minimum: 1, maximum: 9, default: 3 },
    flags: { type: "array", maxItems: 2, items: { type: "boolean" } },
    maybe: { type: ["string", "null"] },
  },
  required: ["name"],
  additionalProperties: false,
} as const satisfies ObjectSchema;

describe("arguments", () => {
  test.each([
    [{ name: "x" }, null],
    [{}, "name is required"],
    [{ name: 1 }, "name must be a string"],
    [{ name: "x", kind: "c" }, "kind must be one of: a, b"],
    [{ name: "x", count: 0 }, "count must be at least 1"],
    [{ name: "x", count: 10 }, "count must be at most 9"],
    [{ name: "x", count: 1.5 }, "count must be a whole number"],
    [{ name: "x", flags: [true, 1] }, "flags[1] must be true or false"],
    [{ name: "x", flags: [true, true, true] }, "flags must have at most 2 entries"],
    [{ name: "x", maybe: 3 }, "maybe must be a string or null"],
    [{ name: "x", other: 1 }, "other is not a parameter"],
  ])("%j: %s", (value, fault) => {
    expect(faultIn(value, SCHEMA)).toBe(fault);
  });

  test("a null is nothing, and defaults come in", () => {
    expect(withDefaults({ name: "x", kind: null }, SCHEMA)).toEqual({ name: "x", count: 3 });
  });

  test("whatever is given, the check names a fault or lets through what fits", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const fault = faultIn(value, SCHEMA);
        if (fault !== null) return fault.length > 0;
        const { name, count } = value as { name: unknown; count?: unknown };
        return typeof name === "string" && (count === undefined || (Number.isInteger(count) && Number(count) > 0));
      }),
    );
  });
});

describe("who may ask", () => {
  const access = { host: "localhost", allowedHosts: ["box.lan"], allowedOrigins: ["https://app.example"], token: null };
  const asked = (headers: Record<string, string>) => new Request("http://localhost/", { headers });

  test.each([
    ["localhost", true],
    ["LOCALHOST.", true],
    ["a.localhost", true],
    ["127.8.9.10", true],
    ["[::1]", true],
    ["::ffff:127.0.0.1", true],
    ["[::ffff:7f00:1]", true],
    ["0.0.0.0", false],
    ["localhost.example", false],
    ["127.0.0.1.example", false],
    ["128.0.0.1", false],
    ["", false],
  ])("%s is this machine: %p", (name, here) => {
    expect(isLoopback(name)).toBe(here);
  });

  test("names that are allowed, and no others", () => {
    expect(refusalOf(asked({ host: "box.lan:8181", origin: "https://app.example" }), access)).toBeNull();
    expect(refusalOf(asked({ host: "box.lan.example" }), access)).not.toBeNull();
    expect(refusalOf(asked({ host: "localhost", origin: "https://app.example.evil" }), access)).not.toBeNull();
    expect(refusalOf(asked({ host: "x" }), { ...access, allowedOrigins: ["*"] })).toBeNull();
    expect(refusalOf(asked({ host: "x" }), { ...access, host: "0.0.0.0", allowedHosts: [] })).toBeNull();
    expect(refusalOf(asked({ host: "x" }), { ...access, host: "0.0.0.0" })).not.toBeNull();
  });

  test("no text but the token opens", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii", minLength: 1 }), (text) => {
        const given = text.trim();
        const request = asked({ authorization: `Bearer ${given}` });
        return hasToken(request, { ...access, token: "right" }) === (given === "right");
      }),
    );
    expect(hasToken(asked({ authorization: "bearer right" }), { ...access, token: "right" })).toBe(true);
  });
});

describe("messages on a pipe", () => {
  test("of any kind, one by one or several, get well-formed answers and end nothing", async () => {
    const message = fc.record(
      {
        jsonrpc: fc.constantFrom("2.0", "1.0"),
        id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
        method: fc.constantFrom("echo", "fail", "x"),
        params: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const values = fc.oneof(message, fc.array(message), fc.jsonValue());
    const frame = fc.oneof(
      values.map((value) => ({ text: JSON.stringify(value) })),
      fc.string().map((text) => ({ text })),
      fc.string().map((fault) => ({ fault })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(frame), async (frames) => {
        const sent: string[] = [];
        const connection = openConnection({
          handle: (method, params) => (method === "fail" ? Promise.reject(new Error("no")) : params),
          send: (json) => sent.push(json),
          log: () => {},
          refusesBatch: () => null,
          silentOnCancel: true,
        });
        for (const one of frames) connection.receive(one);
        await connection.settled();
        expect(sent.length).toBeLessThanOrEqual(frames.length);
        for (const answer of sent.flatMap((json) => JSON.parse(json))) {
          expect(answer.jsonrpc).toBe("2.0");
          expect("id" in answer && "result" in answer !== "error" in answer).toBe(true);
        }
      }),
    );
  });
});

describe("a body", () => {
  const echo = tool({
    name: "echo",
    title: "Echo",
    description: "Answers what it is given.",
    inputSchema: { type: "object", properties: {} },
    annotations: READ_ONLY,
    run: (args) => Promise.resolve(jsonAnswer(args)),
  });
  const surface: McpSurface = {
    tools: () => Promise.resolve([echo]),
    instructions: () => Promise.resolve(""),
    close: () => Promise.resolve(),
  };
  const { signal } = new AbortController();
  const context = { surface, identity: { name: "memq" as const }, signal, keep: () => {} };

  test("of any kind gets one well-formed answer", async () => {
    const method = fc.constantFrom("tools/list", "tools/call", "initialize", "ping", "x", "notifications/y");
    const message = fc.record(
      {
        jsonrpc: fc.constant("2.0"),
        id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
        method,
        params: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.oneof(message, fc.array(message)).map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(body, fc.boolean(), async (text, streams) => {
        const headers: Record<string, string> = streams ? { accept: "application/json, text/event-stream" } : {};
        const response = await answerPost(new Request("http://localhost/mcp", { headers }), text, context);
        const answer = await response.text();
        expect([200, 202, 400]).toContain(response.status);
        const values = response.headers.get("content-type")?.includes("event-stream")
          ? [...answer.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json))
          : [answer === "" ? [] : JSON.parse(answer)].flat();
        if (response.status === 202) expect(values).toEqual([]);
        for (const value of values) {
          expect(value.jsonrpc).toBe("2.0");
          expect("result" in value !== "error" in value).toBe(true);
        }
      }),
    );
  });
});
