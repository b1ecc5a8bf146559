import { MAX_TIMER_MS } from "../home/key-values.ts";

/** Milliseconds that an answer may take: those asked for, else those of MEMQ_DEADLINE_MS, else `otherwise`; no more than a timer can run. */
export function allowedTime(asked: number | undefined, otherwise: number): number {
  const configured = Number(process.env["MEMQ_DEADLINE_MS"]);
  return Math.min(asked ?? (configured > 0 ? configured : otherwise), MAX_TIMER_MS);
}
