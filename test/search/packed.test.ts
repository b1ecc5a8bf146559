import { expect, test } from "bun:test";
import { array, assert, constantFrom, property } from "fast-check";
import { charactersBefore, endsOf, offsetsOf, packedTexts, tokenPlaces } from "../../src/search/packed.ts";

const word = constantFrom("a", "ab", "b", "α", "αβ", "привет", "नमस्ते", "\u{10400}\u{10401}", "é");
const texts = array(array(word, { maxLength: 6 }), { maxLength: 5 });

test("tokens are found where they stand, whatever script they are of", () => {
  assert(
    property(texts, word, (lists, wanted) => {
      const packed = packedTexts(lists.map((list) => list.join(" ")));
      const ends = endsOf(packed);
      const { at } = tokenPlaces(packed, [wanted]);
      const counts = lists.map(() => 0);
      const places = at.map((offset) => {
        const text = ends.findIndex((end) => offset < end);
        counts[text]!++;
        const before = charactersBefore(packed, text, offset) + 1;
        return ` ${lists[text]!.join(" ")} `.slice(before, before + wanted.length + 2);
      });
      expect(places).toEqual(at.map(() => ` ${wanted} `));
      expect(counts).toEqual(lists.map((list) => list.filter((one) => one === wanted).length));
    }),
  );
});

test("what stands across two words is found too, and nothing across two texts", () => {
  const packed = packedTexts(["αβ γδ", "γδ αβ"]);
  expect([offsetsOf(packed, "β γ").length, offsetsOf(packed, "δ γ").length, offsetsOf(packed, "δ α").length]).toEqual([
    1, 0, 1,
  ]);
});
