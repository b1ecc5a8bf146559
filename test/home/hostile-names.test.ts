import { expect, test } from "bun:test";
import { normalizedAgentId } from "../../src/home/agents.ts";
import { bytesOf, durationMs } from "../../src/home/key-values.ts";
import { contextOf } from "../../src/home/qmd-contexts.ts";
import { emptyQmdConfig } from "../../src/home/index-yml.ts";
import { withoutCredentials } from "../../src/printable.ts";

/** No time is measured: where it grew with the square of the length, each of these would take many minutes. */
const MANY = 2_000_000;

test("an agent's id with many dashes inside", () => {
  expect(normalizedAgentId(`--a${"-".repeat(MANY)}b--`)).toBe(`a${"-".repeat(63)}`);
  expect(normalizedAgentId("-".repeat(MANY))).toBe("main");
});

test("a duration and a size with many blanks inside", () => {
  expect(durationMs(` 5${" ".repeat(MANY)}m `)).toBe(300_000);
  expect(durationMs(`5${" ".repeat(MANY)}x`)).toBeNull();
  expect(bytesOf(`5${" ".repeat(MANY)}x`)).toBeNull();
});

test("a context's prefix with many slashes inside", () => {
  const context = { [`/a${"/".repeat(MANY)}b`]: "no", "//a/": "yes" };
  const collection = { name: "c", path: "/", pattern: "*", ignore: [], context, includeByDefault: true };
  const config = { ...emptyQmdConfig(), collections: [collection] };
  expect(contextOf(config, "c", "a/b.md")).toBe("yes");
});

test("an address with many beginnings of addresses inside", () => {
  const address = "http://".repeat(MANY / 4);
  expect(withoutCredentials(address)).toBe(address);
  expect(withoutCredentials("https://me:secret@host/x?key=secret#part")).toBe("https://host/x#part");
});
