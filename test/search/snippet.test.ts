import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { cutAtGrapheme, snippetOf } from "../../src/search/snippet.ts";

const termsOf =
  (...terms: string[]) =>
  (text: string): string[] =>
    terms.filter((term) => text.toLowerCase().includes(term));

describe("snippet", () => {
  test("a passage that fits is printed whole", () => {
    const passage = { text: "# Router\nOmada ER605\n", startLine: 3, endLine: 5 };
    expect(snippetOf(passage, 700, termsOf("omada"))).toEqual(passage);
  });

  test("of a longer one the run of lines that answers best, with its own line numbers", () => {
    const lines = Array.from({ length: 40 }, (_, index) => `Line ${index + 1} is about nothing in particular.`);
    lines[29] = "The hedgehog protocol starts at dusk.";
    const passage = { text: lines.join("\n"), startLine: 11, endLine: 50 };
    const snippet = snippetOf(passage, 200, termsOf("hedgehog", "protocol"));
    expect(snippet.text).toContain("hedgehog protocol");
    expect(snippet.text).toBe(lines.slice(snippet.startLine - 11, snippet.endLine - 10).join("\n"));
    expect(snippet.startLine).toBe(40);
  });

  test("the end of a passage is filled up with what stands before", () => {
    const lines = Array.from({ length: 10 }, (_, index) => `Plain line ${index}`);
    lines[9] = "hedgehog";
    const snippet = snippetOf({ text: lines.join("\n"), startLine: 1, endLine: 10 }, 60, termsOf("hedgehog"));
    expect(snippet).toMatchObject({ startLine: 6, endLine: 10 });
  });

  test("without any word of the query the beginning is printed", () => {
    const lines = Array.from({ length: 30 }, (_, index) => `Plain line ${index}`);
    const snippet = snippetOf({ text: lines.join("\n"), startLine: 1, endLine: 30 }, 100, termsOf());
    expect(snippet.startLine).toBe(1);
    expect(snippet.text.startsWith("Plain line 0\nPlain line 1\n")).toBe(true);
  });

  test("a long line is cut around the answer", () => {
    const text = `${"word ".repeat(300)}hedgehog ${"word ".repeat(300)}`;
    const snippet = snippetOf({ text, startLine: 4, endLine: 4 }, 700, termsOf("hedgehog"));
    expect(snippet.text).toContain("hedgehog");
    expect(text).toContain(snippet.text);
    expect(snippet).toMatchObject({ startLine: 4, endLine: 4 });
  });

  test("never longer than asked, made of the passage's own text, inside its lines", () => {
    const line = fc.string({ unit: "grapheme", maxLength: 80 }).map((text) => text.replaceAll("\n", " "));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), fc.integer({ min: 12, max: 200 }), (lines, maxChars) => {
        const text = lines.join("\n");
        const snippet = snippetOf({ text, startLine: 5, endLine: 4 + lines.length }, maxChars, termsOf("a", "b"));
        expect(snippet.text.length).toBeLessThanOrEqual(maxChars);
        expect(text).toContain(snippet.text);
        expect(snippet.startLine).toBeGreaterThanOrEqual(5);
        expect(snippet.endLine).toBeLessThanOrEqual(4 + lines.length);
        const printed = lines.slice(snippet.startLine - 5, snippet.endLine - 4).join("\n");
        expect(printed).toContain(snippet.text);
        expect(snippet.text.isWellFormed()).toBe(text.isWellFormed() || snippet.text.isWellFormed());
      }),
    );
  });

  test("no visible character is torn apart", () => {
    const family = "👨‍👩‍👧‍👦";
    const text = `${"x".repeat(693)}${family}${"x".repeat(100)}`;
    expect(cutAtGrapheme(text, 700)).toBe("x".repeat(693));
    expect(cutAtGrapheme("e\u0301".repeat(400), 701)).toBe("e\u0301".repeat(350));
    expect(cutAtGrapheme("short", 700)).toBe("short");
  });
});
