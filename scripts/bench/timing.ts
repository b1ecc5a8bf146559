/** One finished process. */
export type Run = { ms: number; peakBytes: number; stdout: string };

/** Runs a command to its end and times it as a whole; throws when it fails, since a failed run has no time. */
export async function timedRun(
  command: string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<Run> {
  const start = Bun.nanoseconds();
  const child = Bun.spawn(command, {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: options.env ?? {},
    cwd: options.cwd,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const ms = (Bun.nanoseconds() - start) / 1e6;
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${stderr.slice(0, 2000)}`);
  return { ms, peakBytes: child.resourceUsage()?.maxRSS ?? 0, stdout };
}

/** Runs several commands in turn, round after round, so that a machine whose speed drifts is fair to all; after one round of warming up. */
export async function interleaved(
  rounds: number,
  commands: Record<string, () => Promise<number>>,
): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const [name, run] of Object.entries(commands)) {
      const ms = await run();
      if (round >= 0) times[name]?.push(ms);
    }
  }
  return times;
}

/** The value below which a share (0 to 1) of the samples lies; nearest rank. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
}

export const median = (samples: number[]): number => percentile(samples, 0.5);

/** One line of the report; `goal` is a bound on `ratio` or `value`, and a missed one is marked, never hidden. */
export type Figure = {
  what: string;
  value: number;
  unit: string;
  against?: { name: string; ratio: number };
  goal?: { kind: "ratio" | "value"; max: number };
};

/** A figure in one line of text, with its goal and whether that was met. */
export function figureLine(figure: Figure): string {
  const measured = figure.goal?.kind === "ratio" ? (figure.against?.ratio ?? Number.NaN) : figure.value;
  const verdict = figure.goal === undefined ? "" : measured <= figure.goal.max ? "  met" : "  MISSED";
  const goal =
    figure.goal === undefined
      ? ""
      : `  goal ≤ ${figure.goal.max}${figure.goal.kind === "ratio" ? " ×" : ` ${figure.unit}`}`;
  const against = figure.against === undefined ? "" : `  ${figure.against.ratio.toFixed(2)} × ${figure.against.name}`;
  return `${figure.what.padEnd(58)} ${figure.value.toFixed(2).padStart(10)} ${figure.unit}${against}${goal}${verdict}`;
}
