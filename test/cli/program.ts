import { resolve } from "node:path";
import { inTodaysMs } from "../work.ts";

const root = resolve(import.meta.dir, "../..");

/** The built executable that the tests start instead of the source, where `MEMQ_TEST_PROGRAM` names one (from the project's folder). */
export const executable = process.env["MEMQ_TEST_PROGRAM"] ? resolve(root, process.env["MEMQ_TEST_PROGRAM"]) : null;

export type Outcome = { stdout: string; stderr: string; exitCode: number };

/** Environment of a child: the throw-away home of the tests, no configuration of the developer's. */
export function childEnv(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = "", HOME = "", XDG_CACHE_HOME = "", XDG_CONFIG_HOME = "", XDG_RUNTIME_DIR = "" } = process.env;
  return { PATH, HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME, XDG_RUNTIME_DIR, ...extra };
}

/** Runs the program as a child process, to its end. */
export async function memq(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string; stdin?: string } = {},
): Promise<Outcome> {
  const child = Bun.spawn(memqCommand(...args), {
    env: childEnv(options.env),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdin: new TextEncoder().encode(options.stdin ?? ""),
    stdout: "pipe",
    stderr: "pipe",
  });
  return outcomeOf(child);
}

/** The same, with the processor's time that the program took, in milliseconds of a machine of today. */
export async function memqWork(
  args: readonly string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Outcome & { workMs: number }> {
  const child = Bun.spawn(memqCommand(...args), {
    ...options,
    env: childEnv(options.env),
    stdout: "pipe",
    stderr: "pipe",
  });
  const outcome = await outcomeOf(child);
  return { ...outcome, workMs: inTodaysMs(Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000) };
}

/** What a child wrote till its end. */
export async function outcomeOf(child: Bun.ReadableSubprocess): Promise<Outcome> {
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

/** The command that starts the program, for tests that hold on to the child. */
export function memqCommand(...args: string[]): string[] {
  return executable === null ? sourceCommand(...args) : [executable, ...args];
}

/** The command that starts the program from source, for tests that look at its modules. */
export function sourceCommand(...args: string[]): string[] {
  return [process.execPath, resolve(root, "src/main.ts"), ...args];
}
