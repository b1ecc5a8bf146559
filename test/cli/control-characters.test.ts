// A note must not steer the terminal it is printed on: texts and names without control characters, JSON as it was.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { printableName, printableText, shortened, withoutCredentials } from "../../src/printable.ts";
import { qmdHome } from "../qmd/homes.ts";
import { temporaryFolder } from "../temporary.ts";
import { memq } from "./program.ts";

const root = temporaryFolder("control-");
afterAll(() => rmSync(root, { recursive: true, force: true }));

const NOTE = "# Cameras \u001B]0;owned\u0007\n\nThe cameras hang \u001B[2J\u009B31m in the hall.\tAll\rof them.\r\n";
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const STEERING = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

test("memory search writes out control characters of notes and names, and leaves JSON alone", async () => {
  mkdirSync(join(root, "ws/memory"), { recursive: true });
  writeFileSync(join(root, "ws/memory/ev\u001B[31mil.md"), NOTE);
  const place = ["--workspace", join(root, "ws"), "--state-dir", join(root, "state")];
  const { stdout } = await memq(["memory", "search", "cameras", ...place]);
  expect(stdout).not.toMatch(STEERING);
  expect(stdout).toContain("memory/ev%1B[31mil.md:");
  expect(stdout).toContain("hang \\x1b[2J\\x9b31m in the hall.\tAll\\x0dof them.");
  const { results } = JSON.parse((await memq(["memory", "search", "cameras", "--json", ...place])).stdout);
  expect(results[0].path).toBe("memory/ev\u001B[31mil.md");
  expect(results[0].snippet).toContain("\u001B[2J\u009B31m");
});

test("qmd's text does so too, and the name that it prints can be opened", async () => {
  const home = await qmdHome({ "notes/100% ev\u001B[31mil.md": NOTE });
  const found = await home.run("search", "cameras");
  expect(found.stdout).not.toMatch(STEERING);
  const name = /^qmd:\S+ \S+?(?=:\d+ #)/m.exec(found.stdout)?.[0] ?? "";
  expect(name).toBe("qmd://notes/100%25 ev%1B[31mil.md");
  expect((await home.run("get", name)).stdout).toStartWith("qmd://notes/100%25 ev%1B[31mil.md  #");
  expect((await home.run("ls", "notes")).stdout).not.toMatch(STEERING);
  const [row] = await home.json("search", "cameras", "--json");
  expect(row).toMatchObject({ file: "qmd://notes/100% ev\u001B[31mil.md" });
  home.remove();
});

test("what a project's configuration says is shown without control characters", async () => {
  const home = await qmdHome({ "notes/a.md": "a\n" });
  home.configure(
    'collections:\n  notes:\n    path: $ROOT/notes\n    update: "true \\e[2K\\rharmless"\n    context:\n      "/": "of \\e[8mnotes"\n',
  );
  const texts = await Promise.all(
    [["collection", "show", "notes"], ["context", "list"], ["status"]].map(async (words) => {
      const { stdout, exitCode } = await home.run(...words);
      expect(exitCode).toBe(0);
      return stdout;
    }),
  );
  for (const text of texts) {
    expect(text).not.toMatch(STEERING);
    expect(text).toContain("\\x1b[");
  }
  home.remove();
});

test("an address is told without what may be a key in it", async () => {
  for (const [given, told] of [
    ["http://me:pass@h:1/v1?key=k#model", "http://h:1/v1#model"],
    ["https://h/m.gguf?token=t", "https://h/m.gguf"],
    ["hf:user/repository/file.gguf", "hf:user/repository/file.gguf"],
    ["/models/what?.gguf", "/models/what?.gguf"],
    ["openai:text-embedding-3-small", "openai:text-embedding-3-small"],
  ] as const) {
    expect(withoutCredentials(given)).toBe(told);
  }
  const home = await qmdHome({ "notes/a.md": "a\n" });
  const env = { ...home.env, QMD_EMBED_MODEL: "http://me:pass@127.0.0.1:9/v1?key=hidden#model" };
  for (const command of ["doctor", "status"]) {
    const { stdout, stderr } = await memq([command], { env, cwd: home.root });
    expect(stdout).toContain("http://127.0.0.1:9/v1");
    expect(stdout + stderr).not.toMatch(/pass|hidden/);
  }
  home.remove();
});

test("what holds no control character is printed as it is", () => {
  for (const text of ["a\tb\nc\r\nd", "100% é 腾 🐘", "\u00A0\u200Fא"]) {
    expect(printableText(text)).toBe(text);
    if (!/[\t\n\u200F]/.test(text)) expect(printableName(text)).toBe(text);
  }
});

test("a name as long as a text was quoted whole by every error about it", async () => {
  const home = await qmdHome({ "notes/a.md": "a\n" });
  const long = `long${"x".repeat(100_000)}name`;
  const place = ["--workspace", home.root, "--state-dir", join(home.root, "state")];
  const commands = [
    ["get", long],
    ["multi-get", long],
    ["search", "a", "-c", long],
    ["search", "a", `--${long}`],
    ["collection", "add", long],
    [long],
    ["memory", "get", long, ...place],
    ["memory", "search", "a", "--workspace", long],
  ];
  const outcomes = await Promise.all(commands.map((words) => home.run(...words)));
  home.remove();
  for (const { stderr, exitCode } of outcomes) {
    expect(exitCode).not.toBe(0);
    expect(stderr.length).toBeLessThan(3000);
    expect(stderr).toMatch(/longx+… \([\d,]+ characters left out\) …x+name/);
  }
});

test("what names the longest path of a system is not shortened, and no character is torn", () => {
  const sentence = `Document not found: ${"/folder".repeat(585)}`;
  expect(shortened(sentence)).toBe(sentence);
  expect(shortened("🦔".repeat(5000)).isWellFormed()).toBe(true);
  expect(shortened(`a${"🦔".repeat(5000)}a`).isWellFormed()).toBe(true);
});
