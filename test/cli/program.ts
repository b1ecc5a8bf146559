import { resolve } from "node:path";

const main = resolve(import.meta.dir, "../../src/main.ts");

export type Outcome = { stdout: string; stderr: string; exitCode: number };

/** Environment of a child: the throw-away home of the tests, no configuration of the developer's. */
export function childEnv(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = "", HOME = "", XDG_CACHE_HOME = "", XDG_CONFIG_HOME = "", XDG_RUNTIME_DIR = "" } = process.env;
  return { PATH, HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR, ...extra };
}

/** Runs the program from source as a child process, to its end. */
export async function memq(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; stdin?: string } = {},
): Promise<Outcome> {
  const child = Bun.spawn([process.execPath, main, ...args], {
    env: childEnv(options.env),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: new TextEncoder().encode(options.stdin ?? ""),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

/** The command that starts the program from source, for tests that hold on to the child. */
export function memqCommand(...args: string[]): string[] {
  return [process.execPath, main, ...args];
}
