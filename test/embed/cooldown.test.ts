import { expect, test } from "bun:test";
import { withCooldown } from "../../src/embed/cooldown.ts";
import { EmbedError, type EmbedErrorKind } from "../../src/embed/errors.ts";
import { failure, KEY, never, opened, settingsFor } from "./harness.ts";

/** A provider that fails as it is told to, the times it was asked, and a clock that only moves by hand. */
async function failing() {
  const state = { kind: null as EmbedErrorKind | null, asked: 0, now: 0 };
  const provider = await opened(settingsFor({ provider: "openai", apiKey: KEY }));
  const cooled = withCooldown(
    {
      ...provider,
      async embedQuery() {
        state.asked += 1;
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

test.each(["timeout", "refused"] as const)("a %s is no failure of the provider", async (kind) => {
  const { state, cooled } = await failing();
  state.kind = kind;
  await failure(cooled.embedQuery("one", never()));
  await failure(cooled.embedQuery("two", never()));
  expect(state.asked).toBe(2);
});
