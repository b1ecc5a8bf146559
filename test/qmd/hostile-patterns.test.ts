import { expect, test } from "bun:test";
import { array, assert, property, constantFrom } from "fast-check";
import picomatch from "picomatch";
import { anyOf, writtenOut } from "../../src/sync/globs.ts";
import { homesUntilEnd } from "./homes.ts";
import { workMeter } from "../work.ts";

const qmdHome = homesUntilEnd();

const matchesGlob = (pattern: string, path: string): boolean => anyOf(writtenOut(pattern), { dot: true })(path);

test("multi-get answers at once to patterns that an expression would try for ever", async () => {
  const name = `${"a".repeat(200)}.md`;
  const { run } = await qmdHome({ [`n/${name}`]: "The heron.\n", "n/b.md": "The wombat.\n" });
  const many = "*a".repeat(40);
  expect(await run("multi-get", `${many}.md`)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("heron") });
  expect(await run("multi-get", `${many}b.md`)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("No files matched"),
  });
  const refused = "has groups that can match in too many ways.";
  for (const [pattern, said] of [
    [`{${many}b,x}.md`, "No files matched pattern:"],
    ["{*a,*b}".repeat(12), "stands for more than 1,000 patterns."],
    ["+(a*)+(a*)b", refused],
    ["*(x|*(a*))b", refused],
  ] as const) {
    const { exitCode, stderr } = await run("multi-get", pattern);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(said)]);
  }
});

test.each([
  ["*-*-*-*-*-[0-9].md", "2026-01-02-03-04-5.md", "2026-01-02-03-04-x.md"],
  ["*-*-*-*-*-[!0-9].md", "2026-01-02-03-04-x.md", "2026-01-02-03-04-/.md"],
  ["*@*-*-*-*-*.md", "a@b-1-2-3-4.md", "a-b-1-2-3-4.md"],
  ["*+*-*-*-*-*!.md", "a+b-1-2-3-4!.md", "a-b-1-2-3-4!.md"],
])("five wildcards beside a class, an @ or a + are no reason to refuse a mask: %s", (pattern, taken, other) => {
  expect([taken, other].map((path) => matchesGlob(pattern, path))).toEqual([true, false]);
});

test.each([
  ["+([a-z0-9-]|[a-z0-9-][a-z0-9-])Z"],
  ["+(ab|abab)Z"],
  ["*(x|?)Z"],
  ["+(a|@(a))Z"],
  ["(a+)+Z"],
  [")|*)+@(Z"],
  ["!(b)+*"],
  ["?(*|*(a)Z"],
  ["(ab|ab)+Z"],
  ["@(a|aa)".repeat(40)],
  [`${"?(a)".repeat(40)}Z`],
  ["[a-z]+".repeat(9)],
  ["@(*[|]*[|]*[|]*[|]*[|]*)"],
])("a group that repeats what matches in several ways is refused instead of holding a server: %s", (pattern) => {
  expect(() => matchesGlob(pattern, "ab".repeat(30))).toThrow("has groups that can match in too many ways");
});

test("what is not refused fails at once on a long name (property)", () => {
  const sign = constantFrom("*", "?", "a", "b", "[a-z]", "+", "+(", "*(", "?(", "@(", "!(", "(", ")", ")", "|", "/");
  const name = "ab".repeat(15);
  assert(
    property(array(sign, { minLength: 4, maxLength: 30 }), (signs) => {
      const spent = workMeter();
      try {
        matchesGlob(`${signs.join("")}Z`, name);
      } catch (error) {
        expect(error).toMatchObject({ code: "BAD_PATTERN" });
      }
      expect([signs.join(""), spent() < 2000]).toEqual([signs.join(""), true]);
    }),
    { numRuns: 2000 },
  );
});

test("many wildcards match what they match for fewer", () => {
  const classes = ["[ab]", "[!a]", "[^b.]", "[!-a]", "[a-]", "[@+]", "[[a]", "[!a-c]"];
  const glob = array(constantFrom("*", "*", "a", "b", ".", "?", "/", ".md", "-", "@", "-+", ...classes), {
    minLength: 10,
    maxLength: 24,
  });
  const path = array(constantFrom("a", "b", ".", "-", "/", "é", "@", "+"), { maxLength: 10 }).map(
    (parts) => `a${parts.join("")}b.md`,
  );
  const plain = (parts: string[]): string => `a${parts.join("").replace(/\*+/g, "*").replace(/\/+/g, "/")}*`;
  assert(
    property(glob.map(plain), path, (pattern, name) => {
      const clean = name.replace(/\/+/g, "/");
      const expected = picomatch(pattern, { dot: true, nonegate: true, posix: true })(clean);
      expect([pattern, clean, matchesGlob(pattern, clean)]).toEqual([pattern, clean, expected]);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ["journal/2026-{01,02}-*.md", true],
  ["{*.txt,*.org,*.html,*.rst,journal/*.md}", true],
  ["**/*-0[12]-*.md", true],
  ["+(journal|notes)/*.md", true],
  ["journal/+([0-9])-+([0-9])-*.md", true],
  ["journal/*-*-*-*-*-*.md", false],
  ["*.txt", false],
  ["**/*[0-9]-*[!a-z][0-9]-*[0-9]*.*", true],
  ["*/*-*-*-*-*-[0-9].md", false],
])("an ordinary pattern: %s", (pattern, expected) => {
  expect(matchesGlob(pattern, "journal/2026-01-30.md")).toBe(expected);
});
