import type { MemorySettings } from "../home/types.ts";
import type { GetAnswer } from "./get.ts";

/** A search that could not be made, as an answer: the agent goes on either way and can tell its user. */
export type UnavailableAnswer = {
  results: [];
  disabled: true;
  unavailable: true;
  error: string;
  warning: string;
  action: string;
};

/** The embedding provider failed; running out of quota is told apart, since the user alone can mend it. */
export function providerUnavailable(reason: string): UnavailableAnswer {
  const error = reason.trim() === "" ? "memory search unavailable" : reason.trim();
  if (/insufficient_quota|quota|\b429\b/i.test(error)) {
    return unavailable(
      error,
      "Memory search is unavailable because the embedding provider quota is exhausted.",
      "Top up or switch embedding provider, then retry memory_search.",
    );
  }
  return unavailable(
    error,
    "Memory search is unavailable due to an embedding/provider error.",
    "Check embedding provider configuration and retry memory_search.",
  );
}

/** Memory is switched off in the configuration. */
export function memoryDisabled(settings: MemorySettings): UnavailableAnswer {
  return unavailable(
    settings.disabledReason ?? "memory search unavailable",
    "Memory search is switched off for this agent.",
    'Set memorySearch.enabled to true, and plugins.slots.memory to anything but "none".',
  );
}

/** The answer to an agent that asks for a note although its memory is switched off; null where it is on. */
export function readingDisabled({ enabled, disabledReason }: MemorySettings, path: string): GetAnswer | null {
  if (enabled) return null;
  return { text: "", path, disabled: true, error: disabledReason ?? "memory is off", code: "MEMORY_READ_FAILED" };
}

/** `corpus: "sessions"` without transcripts in the index, though their export may be asked for. */
export function sessionsUnavailable(backend: "builtin" | "qmd", isExportAskedFor: boolean): UnavailableAnswer {
  const qmdAction = isExportAskedFor
    ? "Set memory.qmd.sessions.exportDir to a folder that is none of the notes'."
    : "Set memory.qmd.sessions.enabled to true.";
  return unavailable(
    "session transcripts are not indexed",
    "Session transcript search is unavailable for this agent.",
    backend === "qmd"
      ? qmdAction
      : 'Set agents.defaults.memorySearch.experimental.sessionMemory to true and add "sessions" to its sources.',
  );
}

function unavailable(error: string, warning: string, action: string): UnavailableAnswer {
  return { results: [], disabled: true, unavailable: true, error, warning, action };
}
