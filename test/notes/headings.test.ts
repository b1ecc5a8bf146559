import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { cutPassages } from "../../src/notes/cut.ts";
import { headingsAbove } from "../../src/notes/headings.ts";

const cutting = { kind: "entries", maxWeight: 1600, overlapWeight: 320 } as const;

/** Each passage's text with the headings that it stands under. */
function placed(text: string): [string, string[]][] {
  const passages = cutPassages(text, cutting);
  const above = headingsAbove(text, passages);
  return passages.map((passage, at) => [passage.text.trim(), above[at]!]);
}

test("an entry stands under the headings of its section and of those around it; a heading under those around it", () => {
  const text =
    "- first\n# Home\n## Wi-Fi <!-- importance: 3 -->\n- password\n\n### Guests\n- name\n## Car\n- oil\n# Work\n- desk";
  expect(placed(text)).toEqual([
    ["- first", []],
    ["# Home", []],
    ["## Wi-Fi", ["Home"]],
    ["- password", ["Home", "Wi-Fi"]],
    ["### Guests", ["Home", "Wi-Fi"]],
    ["- name", ["Home", "Wi-Fi", "Guests"]],
    ["## Car", ["Home"]],
    ["- oil", ["Home", "Car"]],
    ["# Work", []],
    ["- desk", ["Work"]],
  ]);
});

test("a comment in a block of code and a tag are no headings", () => {
  const text = "# Shell\n- run\n```sh\n# remove everything\nrm x\n```\n- #todo later\n#untitled\n- done";
  expect(placed(text).map(([, above]) => above)).toEqual([[], ["Shell"], ["Shell"], ["Shell"], ["Shell"]]);
});

test("every passage has its headings, whatever a note is made of", () => {
  const lines = fc.array(
    fc.constantFrom("# a", "### b", "## c", "```", "- entry", "text", "", "####### no", "  - deeper"),
  );
  fc.assert(
    fc.property(lines, (made) => {
      const text = made.join("\n");
      const passages = cutPassages(text, cutting);
      const above = headingsAbove(text, passages);
      expect(above).toHaveLength(passages.length);
      for (const [at, { pos }] of passages.entries())
        for (const heading of above[at]!) expect(text.slice(0, pos)).toContain(`# ${heading}\n`);
    }),
  );
});
