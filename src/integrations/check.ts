import { MemqError, reasonOf } from "../errors.ts";
import { CLIENTS } from "./clients.ts";
import { greetingOf } from "./handshake.ts";
import type { Launch, SetupRequest } from "./setup.ts";

/** What came of starting one configured server. */
export type CheckResult = {
  client: string;
  server: string;
  ok: boolean;
  /** The configuration and the command in it, where it could be read. */
  file?: string;
  command?: string[];
  version?: string;
  tools?: string[];
  error?: string;
};

/**
 * Starts memq as each configuration says (that of `only`, or all of them) and tells what answered. Errors: `NOT_SET_UP` when no
 * configuration names memq.
 */
export async function checkClients(
  request: Omit<SetupRequest, "command">,
  only: string | undefined,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const looked: string[] = [];
  for (const client of CLIENTS) {
    if (only !== undefined && client.id !== only) continue;
    try {
      const { file, launches } = await client.launches(request);
      looked.push(file);
      for (const launch of launches) results.push(await checked(launch));
    } catch (error) {
      // One client's broken file must not hide how the others are.
      results.push({ client: client.id, server: "memq", ok: false, error: reasonOf(error) });
    }
  }
  if (results.length > 0) return results;
  throw new MemqError("NOT_SET_UP", `memq is not set up in ${looked.join(", ")}.`, {
    hint: `Set it up with: memq setup ${only ?? CLIENTS.map(({ id }) => id).join("|")} --write`,
  });
}

async function checked(launch: Launch): Promise<CheckResult> {
  const { client, file, server, command, problems } = launch;
  const result = { client, file, server, command };
  if (problems.length > 0) return { ...result, ok: false, error: problems.join("; ") };
  try {
    const { version, tools } = await greetingOf(launch);
    return { ...result, ok: true, version, tools };
  } catch (error) {
    return { ...result, ok: false, error: reasonOf(error) };
  }
}
