import { expect, test } from "bun:test";
import { turns } from "../../src/llama/turns.ts";

const never = new AbortController().signal;
const patient = () => turns(60_000, () => undefined);

test("quick work goes before bulk work, each in order, one at a time", async () => {
  const turn = patient();
  const done: string[] = [];
  let running = 0;
  const work = (name: string) => async () => {
    expect(++running).toBe(1);
    await Bun.sleep(1);
    running--;
    done.push(name);
  };
  const first = turn.take(true, never, work("first"));
  const rest = [
    turn.take(true, never, work("bulk 1")),
    turn.take(false, never, work("quick 1")),
    turn.take(true, never, work("bulk 2")),
    turn.take(false, never, work("quick 2")),
  ];
  await Promise.all([first, ...rest]);
  expect(done).toEqual(["first", "quick 1", "quick 2", "bulk 1", "bulk 2"]);
});

test("failed and given up work passes the turn on", async () => {
  const turn = patient();
  const failing = turn.take(false, never, () => Promise.reject(new Error("failed")));
  const aborted = turn.take(false, AbortSignal.abort(new Error("given up")), () => Promise.resolve("ran"));
  const last = turn.take(false, never, () => Promise.resolve("last"));
  const outcomes = await Promise.allSettled([failing, aborted, last]);
  expect(outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : String(outcome.reason)))).toEqual([
    "Error: failed",
    "Error: given up",
    "last",
  ]);
});

test("work that hangs is noticed", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  void turns(20, () => resolve("stuck")).take(false, never, () => new Promise(() => undefined));
  expect(await promise).toBe("stuck");
});
