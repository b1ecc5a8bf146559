import { describe, expect, test } from "bun:test";
import { withCooldown } from "../../src/embed/cooldown.ts";
import { EmbedError, type EmbedErrorKind } from "../../src/embed/errors.ts";
import { failure, KEY, never, opened, settingsFor } from "./harness.ts";

/** A provider that fails as it is told to, the times it was asked, and a clock that only moves by hand. */
async function failing() {
  const state = { kind: null as EmbedErrorKind | null, asked: 0, now: 0, takes: 0 };
  const provider = await opened(settingsFor({ provider: "openai", apiKey: KEY }));
  const cooled = withCooldown(
    {
      ...provider,
      async embedQuery() {
        state.asked += 1;
        state.now += state.takes;
        if (state.kind !== null) throw new EmbedError(state.kind, "it fails");
        return new Float32Array([1]);
      },
    },
    () => state.now,
  );
  return { state, cooled };
}

test("a provider that failed is asked again after a minute, and its failure answers until then", async () => {
  const { state, cooled } = await failing();
  state.kind = "fatal";
  expect((await failure(cooled.embedQuery("one", never()))).message).toBe("it fails");
  state.kind = null;
  state.now = 59_999;
  expect((await failure(cooled.embedQuery("two", never()))).message).toBe("it fails");
  expect(state.asked).toBe(1);
  state.now = 60_000;
  expect(await cooled.embedQuery("three", never())).toEqual(new Float32Array([1]));
  expect(state.asked).toBe(2);
});

test("when it is known to answer again, it is asked at once", async () => {
  const { state, cooled } = await failing();
  state.kind = "transient";
  await failure(cooled.embedQuery("one", never()));
  state.kind = null;
  cooled.recovered();
  expect(await cooled.embedQuery("two", never())).toEqual(new Float32Array([1]));
});

test("the refusal of one text is no failure of the provider", async () => {
  const { state, cooled } = await failing();
  state.kind = "refused";
  await failure(cooled.embedQuery("one", never()));
  await failure(cooled.embedQuery("two", never()));
  expect(state.asked).toBe(2);
});

describe("a provider that gives no answer", () => {
  test("is not waited for again by the questions of the next minute", async () => {
    const { state, cooled } = await failing();
    Object.assign(state, { kind: "timeout", takes: 15_000 });
    await failure(cooled.embedQuery("one", never()));
    state.now += 59_999;
    expect((await failure(cooled.embedQuery("two", never()))).code).toBe("EMBED_TIMEOUT");
    expect(state.asked).toBe(1);
    Object.assign(state, { kind: null, now: state.now + 1 });
    expect(await cooled.embedQuery("three", never())).toEqual(new Float32Array([1]));
  });

  test("is not condemned because many questions waited for it at once", async () => {
    const { state, cooled } = await failing();
    Object.assign(state, { kind: "timeout", takes: 0 });
    const questions = Array.from({ length: 20 }, (_, n) => failure(cooled.embedQuery(`question ${n}`, never())));
    // All of them were asked when none had waited yet, and give up together.
    state.now = 500;
    await Promise.all(questions);
    Object.assign(state, { kind: null, now: 2500 });
    expect(await cooled.embedQuery("another", never())).toEqual(new Float32Array([1]));
  });

  test("rests for the longer the more was waited in vain, and a short deadline costs little", async () => {
    const { state, cooled } = await failing();
    Object.assign(state, { kind: "timeout", takes: 200 });
    for (const rest of [800, 1_600, 2_400]) {
      await failure(cooled.embedQuery("x", never()));
      const { now, asked } = state;
      state.now = now + rest - 1;
      await failure(cooled.embedQuery("x", never()));
      expect(state.asked).toBe(asked);
      state.now = now + rest;
    }
  });

  test("is trusted like any other once it answered", async () => {
    const { state, cooled } = await failing();
    Object.assign(state, { kind: "timeout", takes: 1_000 });
    await failure(cooled.embedQuery("one", never()));
    Object.assign(state, { kind: null, now: state.now + 4_000 });
    await cooled.embedQuery("two", never());
    state.kind = "timeout";
    await failure(cooled.embedQuery("three", never()));
    Object.assign(state, { kind: null, now: state.now + 4_000 });
    expect(await cooled.embedQuery("four", never())).toEqual(new Float32Array([1]));
  });
});
