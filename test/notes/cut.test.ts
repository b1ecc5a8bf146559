import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { cutPassages } from "../../src/notes/cut.ts";
import { passageText } from "../../src/notes/passage-text.ts";
import type { Cutting, PassageDraft } from "../../src/notes/types.ts";
import { weightOf } from "../../src/notes/weight.ts";
import { workMeter } from "../work.ts";

const lines: Cutting = { kind: "lines", maxWeight: 1600, overlapWeight: 320 };
const entries: Cutting = { kind: "entries", maxWeight: 1600, overlapWeight: 320 };
const breakpoints: Cutting = { kind: "breakpoints", maxChars: 2700, overlapChars: 405, windowChars: 600 };
/** The same shapes with small numbers, so that generated texts are cut often. */
const small: Cutting[] = [
  { kind: "lines", maxWeight: 60, overlapWeight: 15 },
  { kind: "entries", maxWeight: 60, overlapWeight: 15 },
  { kind: "breakpoints", maxChars: 60, overlapChars: 9, windowChars: 20 },
];

const piece = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "\n",
    "\n\n",
    "\r\n",
    "# Heading\n",
    "\n- entry ",
    "\n```\n",
    "\n---\n",
    "一二三四五",
    "😀",
    "ｱｲ",
    "word ",
    " ",
    "<!-- trigger: a, b -->",
    "<!-- importance: 7 -->",
    "<!-- importance: <!--",
    "-->",
    "x".repeat(90),
  ),
);
const ANNOTATION = /<!--\s*(?:trigger|importance|project)\s*:.*?-->/g;
const document = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));

function loneSurrogates(text: string): number {
  return text.isWellFormed() ? 0 : 1;
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

/** What no passage covers. */
function uncovered(text: string, passages: readonly PassageDraft[]): string {
  const covered = new Uint8Array(text.length);
  for (const { pos, length } of passages) covered.fill(1, pos, pos + length);
  return [...covered.keys()]
    .filter((at) => covered[at] === 0)
    .map((at) => text.charAt(at))
    .join("");
}

describe.each(small)("cutting by $kind", (cutting) => {
  test("a passage's text comes back from its position", () => {
    fc.assert(
      fc.property(document, (text) => {
        for (const passage of cutPassages(text, cutting)) {
          expect(passageText(text, passage.pos, passage.length)).toBe(passage.text);
        }
      }),
    );
  });

  test("passages stay within the cap", () => {
    fc.assert(
      fc.property(document, (text) => {
        for (const passage of cutPassages(text, cutting)) {
          if (cutting.kind === "breakpoints") expect(passage.length).toBeLessThanOrEqual(cutting.maxChars);
          else expect(weightOf(passage.hashedText ?? passage.text)).toBeLessThanOrEqual(cutting.maxWeight);
        }
      }),
    );
  });

  test("together they hold everything but blanks and annotations", () => {
    // Break points may fall into an annotation, whose halves are then judged apart.
    const cutAnnotations = cutting.kind === "breakpoints";
    fc.assert(
      fc.property(document, (generated) => {
        const text = cutAnnotations ? generated.replaceAll("-->", "") : generated;
        expect(uncovered(text, cutPassages(text, cutting)).replaceAll(ANNOTATION, "").trim()).toBe("");
      }),
    );
  });

  test("no cut parts a surrogate pair, and lines are those of the positions", () => {
    fc.assert(
      fc.property(
        document.filter((text) => text.isWellFormed()),
        (text) => {
          for (const { text: run, pos, length, startLine, endLine } of cutPassages(text, cutting)) {
            expect(loneSurrogates(run)).toBe(0);
            expect(startLine).toBe(lineOf(text, pos));
            expect(endLine).toBe(lineOf(text, pos + length));
          }
        },
      ),
    );
  });
});

describe("long and odd texts", () => {
  test("a line of 20,000 characters is cut into pieces of one line number", () => {
    const passages = cutPassages(`short\n${"x".repeat(20_000)}\nend`, lines);
    expect(passages.every(({ text }) => text.length <= 1600)).toBe(true);
    expect(passages.filter(({ startLine }) => startLine === 2).length).toBe(13);
  });

  test("Chinese text is cut at 400 characters, emoji at whole characters", () => {
    const chinese = cutPassages("汉".repeat(1000), lines);
    expect(chinese.map(({ text }) => text.length)).toEqual([400, 400, 279]);
    const emoji = cutPassages(`a${"😀".repeat(2000)}`, lines);
    expect(emoji.every(({ text }) => text.isWellFormed() && text.length <= 1600)).toBe(true);
  });

  test("carriage returns stay with their lines", () => {
    expect(cutPassages("one\r\ntwo\r\n", lines)).toEqual([
      { seq: 0, startLine: 1, endLine: 3, pos: 0, length: 10, text: "one\r\ntwo\r\n" },
    ]);
  });

  test("a line of 5 million characters with comment marks is cut in linear time", () => {
    const text = `<!-- x --> ${"word <!-- importance: 3 --> ".repeat(180_000)}`;
    for (const cutting of [lines, entries, breakpoints]) {
      const spent = workMeter();
      expect(cutPassages(text, cutting).length).toBeGreaterThan(1000);
      // Quadratic work would take minutes.
      expect(spent()).toBeLessThan(20_000);
    }
  }, 60_000);
});

describe("entries", () => {
  const note = [
    "# Facts",
    "- Tea at four. <!-- trigger: tea; Break | jug of milk --> <!-- Importance: 3 --> <!-- importance: 11 -->",
    "  With milk. <!-- trigger: tea, milk -->",
    "- Quoted <!-- importance: 9 --> in the middle",
    "- Keyed. <!-- project: memq; site -->",
    "- Broken. <!-- project: a<b -->",
  ].join("\n");

  test("a nested line belongs to its entry, and its annotations add up", () => {
    const [, tea] = cutPassages(note, entries);
    expect(tea).toMatchObject({
      startLine: 2,
      endLine: 3,
      text: "- Tea at four.\n  With milk.",
      importance: 3,
      triggers: ["tea", "Break", "jug of milk", "milk"],
    });
  });

  test("a comment inside a sentence is no annotation of the entry, but is not indexed either", () => {
    const quoted = cutPassages(note, entries)[2];
    expect(quoted?.importance).toBeUndefined();
    expect(quoted?.text).toBe("- Quoted  in the middle");
  });

  test("project keys, and a mark where they can't be one", () => {
    const passages = cutPassages(note, entries);
    expect(passages[3]?.projects).toEqual(["memq", "site"]);
    expect(passages[4]?.projects).toEqual(["!invalid-project-annotation"]);
  });

  test("all parts of a long entry keep its annotations", () => {
    const passages = cutPassages(`- ${"word ".repeat(700)}<!-- importance: 5 -->`, entries);
    expect(passages.length).toBeGreaterThan(2);
    expect(passages.every(({ importance }) => importance === 5)).toBe(true);
  });
});

describe("break points", () => {
  test("a heading within the window wins over nearer lines", () => {
    const filler = "plain text of a line\n".repeat(120);
    const text = `${filler}# Second part\n${filler}`;
    const [first] = cutPassages(text, breakpoints);
    expect(first?.length).toBe(filler.length - 1);
  });

  test("nothing is cut inside a code fence", () => {
    const code = `\`\`\`\n${"code();\n".repeat(60)}\`\`\`\n`;
    const text = `${"text of a line\n".repeat(150)}${code}${"tail of it\n".repeat(100)}`;
    const [first] = cutPassages(text, breakpoints);
    expect(text.slice(0, first?.length).endsWith("text of a line")).toBe(true);
  });
});
