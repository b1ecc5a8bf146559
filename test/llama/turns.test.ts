import { expect, test } from "bun:test";
import { turns } from "../../src/llama/turns.ts";

const never = new AbortController().signal;
const patient = () => turns(60_000, () => undefined);

test("quick work goes before bulk work, each in order, one at a time", async () => {
  const { take } = patient();
  const done: string[] = [];
  let running = 0;
  const work = (name: string) => async () => {
    expect(++running).toBe(1);
    await Bun.sleep(1);
    running--;
    done.push(name);
  };
  const first = take(true, never, work("first"));
  const rest = [
    take(true, never, work("bulk 1")),
    take(false, never, work("quick 1")),
    take(true, never, work("bulk 2")),
    take(false, never, work("quick 2")),
  ];
  await Promise.all([first, ...rest]);
  expect(done).toEqual(["first", "quick 1", "quick 2", "bulk 1", "bulk 2"]);
});

test("failed and given up work passes the turn on", async () => {
  const { take } = patient();
  const failing = take(false, never, () => Promise.reject(new Error("failed")));
  const aborted = take(false, AbortSignal.abort(new Error("given up")), () => Promise.resolve("ran"));
  const last = take(false, never, () => Promise.resolve("last"));
  expect(failing).rejects.toThrow("failed");
  expect(aborted).rejects.toThrow("given up");
  expect(await last).toBe("last");
});

test("work that hangs is noticed", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  void turns(20, () => resolve("stuck")).take(false, never, () => new Promise(() => undefined));
  expect(await promise).toBe("stuck");
});
