import { describe, expect, test } from "bun:test";
import { assert, property, string } from "fast-check";
import { indexTokenString } from "../../src/search/tokens.ts";
import { passageTokenString, turnReader } from "../../src/search/turns.ts";
import { testHome } from "./homes.ts";

const talk = [
  "Caroline: Did you paint the lake yourself, Mel?",
  "Melanie: Yes, I painted it last year. How was the parade?",
  "Caroline: I loved the parade.",
].join("\n");

/** How often each term is told of whom the terms name. */
function told(text: string, ...terms: string[]): number[] {
  const tokens = ` ${passageTokenString(text)} `;
  const tells = turnReader(terms)(passageTokenString(text));
  return terms.map((term) => {
    const places = Array.from(tokens.matchAll(new RegExp(` ${term}(?= )`, "g")), ({ index }) => index + 1);
    return places.filter((start) => tells?.(start) === true).length;
  });
}

describe("a conversation", () => {
  test("has a mark before each turn, and any other text none", () => {
    expect(passageTokenString(talk).match(/\S+:/g)).toEqual(["carolin:", "melan:", "carolin:"]);
    for (const text of ["Owner: Ann\nStatus: done\n", "at 7:55: nothing\nat 7:55: nothing", "plain words"])
      expect(passageTokenString(text)).toBe(indexTokenString(text));
  });

  test("tells of the one who says I, and of the one who is spoken to", () => {
    expect(told(talk, "melan", "paint", "parad")).toEqual([0, 2, 1]);
    expect(told(talk, "carolin", "paint", "parad")).toEqual([0, 0, 1]);
    expect(told(talk, "paint", "parad")).toEqual([0, 0]);
  });

  test("of two that speak of one thing, the one that is asked about is found first", async () => {
    const day = (who: string, other: string): string =>
      `${who}: I adopted a puppy from the shelter yesterday.\n${other}: How sweet of the puppy, ${who}!\n` +
      `${who}: It sleeps all day long.\n${other}: Enjoy, ${who}. Talk soon!\n`;
    const home = await testHome({
      "memory/a.md": day("Nate", "Joanna"),
      "memory/b.md": day("Joanna", "Nate"),
    });
    const paths = async (query: string): Promise<string[]> => (await home.ask(query)).hits.map(({ path }) => path);
    expect(await paths("When did Joanna adopt a puppy?")).toEqual(["memory/b.md", "memory/a.md"]);
    expect(await paths("When did Nate adopt a puppy?")).toEqual(["memory/a.md", "memory/b.md"]);
    home.close();
  });
});

test("any text has the tokens of its turns", () => {
  assert(
    property(string({ unit: "grapheme" }), (text) => {
      const words = (tokens: string): string[] =>
        tokens
          .split(" ")
          .filter((token) => !token.endsWith(":"))
          .sort();
      const twice = `Ann: ${text}\nAnn: ${text}`;
      expect(words(passageTokenString(twice))).toEqual(words(indexTokenString(twice)));
    }),
  );
});
