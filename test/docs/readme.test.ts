// Everything the README shows is run as it stands there.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readmeWithReferences } from "../../scripts/readme.ts";
import { executable, memqCommand, outcomeOf } from "../cli/program.ts";
import { temporaryFolder } from "../temporary.ts";

const root = resolve(import.meta.dir, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");
const folder = temporaryFolder("readme-");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

cpSync(join(root, "test/fixtures/sample"), join(folder, "sample"), { recursive: true });
// `memq` on the PATH: the built executable, or the source where nothing is built yet.
const built = join(root, "dist/memq");
const program = executable === null && existsSync(built) ? [built] : memqCommand();
writeFileSync(join(folder, "memq"), `#!/bin/sh\nexec ${program.map((word) => `"${word}"`).join(" ")} "$@"\n`);
chmodSync(join(folder, "memq"), 0o755);
const env = { HOME: join(folder, "home"), PATH: `${folder}:/usr/bin:/bin` };

function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    (match) => match[1] ?? "",
  );
}

/** `…` stands for anything within a line, and alone on a line for any lines. */
function patternOf(expected: string): string {
  const parts = expected.split(/^…$/m).map((part) =>
    part
      .split("…")
      .map((text) => RegExp.escape(text))
      .join("[^\n]*?"),
  );
  return parts.join("[^]*?");
}

describe("consoles of the README", () => {
  for (const block of blocks("console")) {
    const [, ...commands] = block.split(/^\$ /m);
    test(commands[0]?.split("\n")[0] ?? "", async () => {
      for (const part of commands) {
        const [line = "", ...expected] = part.split("\n");
        const child = Bun.spawn(["sh", "-c", line], { cwd: folder, env, stdout: "pipe", stderr: "pipe" });
        const { stdout, stderr, exitCode } = await outcomeOf(child);
        expect(exitCode, `${line}\n${stderr}`).toBe(0);
        const pattern = patternOf(expected.join("\n").trimEnd());
        expect(stdout.trimEnd()).toMatch(new RegExp(`^${pattern}$`));
      }
    });
  }
});

describe("exchanges of the README", () => {
  for (const block of blocks("jsonrpc")) {
    test("are what the program says", async () => {
      const child = Bun.spawn(["sh", "-c", "memq rpc"], {
        cwd: folder,
        env,
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      });
      const reader = child.stdout.getReader();
      const decoder = new TextDecoder();
      let buffer = "";
      const nextReply = async (id: unknown): Promise<unknown> => {
        for (;;) {
          const end = buffer.indexOf("\n");
          if (end === -1) {
            const { value, done } = await reader.read();
            if (done) throw new Error("the program ended early");
            buffer += decoder.decode(value, { stream: true });
            continue;
          }
          const message = JSON.parse(buffer.slice(0, end)) as { id?: unknown };
          buffer = buffer.slice(end + 1);
          if (message.id === id) return message;
        }
      };
      for (const line of block.trim().split("\n")) {
        const message = line.slice(2);
        if (line.startsWith("→")) {
          await child.stdin.write(`${message}\n`);
          await child.stdin.flush();
        } else {
          const expected = JSON.parse(message) as { id: unknown };
          expect(await nextReply(expected.id)).toMatchObject(expected);
        }
      }
      expect(await child.exited).toBe(0);
    });
  }
});

test("the references of the README are what the tables say", () => {
  expect(readme === readmeWithReferences(readme) || "run: bun scripts/readme.ts").toBe(true);
});
