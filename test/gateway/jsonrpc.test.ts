import { describe, expect, test } from "bun:test";
import { assert, json, property, string } from "fast-check";
import { MemqError } from "../../src/errors.ts";
import { openConnection, RpcError } from "../../src/gateway/jsonrpc.ts";

type Answer = {
  jsonrpc?: string;
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
};

function connect(handle: Parameters<typeof openConnection>[0]["handle"]) {
  const sent: Answer[] = [];
  const logged: string[] = [];
  const connection = openConnection({
    handle,
    send: (text) => sent.push(JSON.parse(text)),
    log: (line) => logged.push(line),
  });
  const send = (message: unknown): void => connection.receive({ text: JSON.stringify(message) });
  return { connection, sent, logged, send };
}

describe("what is no request", () => {
  test.each([
    ["not JSON", "{oops", -32700, null],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"x"}]', -32600, null],
    ["an empty batch", "[]", -32600, null],
    ["a number", "7", -32600, null],
    ["another version", '{"jsonrpc":"1.0","id":"a","method":"x"}', -32600, "a"],
    ["no method", '{"jsonrpc":"2.0","id":3}', -32600, 3],
    ["a method that is no text", '{"jsonrpc":"2.0","id":3,"method":4}', -32600, 3],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"x"}', -32600, null],
    ["params in a list", '{"jsonrpc":"2.0","id":5,"method":"x","params":[1]}', -32602, 5],
  ])("%s", (_name, text, code, id) => {
    const { connection, sent } = connect(() => ({}));
    connection.receive({ text });
    expect(sent).toMatchObject([{ id, error: { code } }]);
  });

  test("any text gets one answer or none, and nothing throws", async () => {
    const { connection, sent } = connect(() => ({}));
    assert(
      property(json(), string(), (value, text) => {
        for (const one of [value, text]) {
          const before = sent.length;
          connection.receive({ text: one });
          expect(sent.length - before).toBeLessThanOrEqual(1);
        }
      }),
    );
    await connection.settled();
  });

  test("answers to nothing we asked are ignored", () => {
    const { sent, send } = connect(() => ({}));
    send({ jsonrpc: "2.0", id: 1, result: {} });
    expect(sent).toEqual([]);
  });
});

describe("requests", () => {
  test.each([0, -1, 1.5, "x", "", null])("the id %p comes back as it is", async (id) => {
    const { connection, sent, send } = connect(() => 7);
    send({ jsonrpc: "2.0", id, method: "x" });
    await connection.settled();
    expect(sent).toEqual([{ jsonrpc: "2.0", id, result: 7 }]);
  });

  test("a slow one never delays a quick one", async () => {
    const slow = Promise.withResolvers<string>();
    const { connection, sent, send } = connect((method) => (method === "slow" ? slow.promise : "quick"));
    send({ jsonrpc: "2.0", id: 1, method: "slow" });
    send({ jsonrpc: "2.0", id: 2, method: "quick" });
    while (sent.length === 0) await Bun.sleep(0);
    expect(sent.map(({ id }) => id)).toEqual([2]);
    slow.resolve("slow");
    await connection.settled();
    expect(sent.map(({ id }) => id)).toEqual([2, 1]);
  });

  test("a cancelled one is answered at once, and only it", async () => {
    const never = new Promise(() => {});
    const { connection, sent, send } = connect((method) => (method === "slow" ? never : "quick"));
    send({ jsonrpc: "2.0", id: 1, method: "slow" });
    send({ jsonrpc: "2.0", id: "1", method: "slow" });
    connection.cancel("1");
    while (sent.length === 0) await Bun.sleep(0);
    expect(sent).toMatchObject([{ id: "1", error: { code: -32800 } }]);
    connection.cancelAll();
    await connection.settled();
    expect(sent).toMatchObject([{ id: "1" }, { id: 1, error: { code: -32800 } }]);
  });

  test("errors carry their number, or code and hint", async () => {
    const { connection, sent, send } = connect((method) => {
      if (method === "typed") throw new MemqError("INDEX_NEWER", "too new", { hint: "update memq" });
      if (method === "rpc") throw new RpcError("invalidParams", "parameter 'x' is missing");
      throw new Error("oops");
    });
    for (const method of ["typed", "rpc", "other"]) send({ jsonrpc: "2.0", id: method, method });
    await connection.settled();
    expect(sent.map(({ error }) => error)).toEqual([
      { code: -32001, message: "too new", data: { code: "INDEX_NEWER", hint: "update memq" } },
      { code: -32602, message: "parameter 'x' is missing" },
      { code: -32001, message: "oops", data: { code: "INTERNAL" } },
    ]);
  });
});

test("notifications are never answered, not even when they fail", async () => {
  const { connection, sent, send, logged } = connect(() => {
    throw new Error("oops");
  });
  send({ jsonrpc: "2.0", method: "x" });
  send({ jsonrpc: "2.0", method: "x", params: [] });
  await connection.settled();
  expect(sent).toEqual([]);
  expect(logged).toEqual(["x: oops"]);
});

test("what comes after the end of a session was run all the same when it was a notification", async () => {
  const handled: string[] = [];
  const { connection, sent, send, logged } = connect((method) => handled.push(method));
  send({ jsonrpc: "2.0", method: "before" });
  connection.close();
  send({ jsonrpc: "2.0", method: "late" });
  send({ jsonrpc: "2.0", id: 1, method: "late" });
  send({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } });
  await connection.settled();
  expect(handled.toSorted()).toEqual(["$/cancelRequest", "before"]);
  expect(sent).toMatchObject([{ id: 1, error: { code: -32600 } }]);
  expect(logged).toEqual(["late: the session is ending"]);
});
