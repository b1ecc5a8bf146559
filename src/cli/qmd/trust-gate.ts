import type { QmdHome } from "../../home/qmd-home.ts";
import { recordTrust, untrustedNotice } from "../../home/trust.ts";
import { isOnTerminal, notice } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { noteHome, qmdHomeOf } from "./home.ts";

/**
 * The home as far as its configuration may be followed. One that came with a checkout and asks for more than it may is shown to
 * the person at the terminal, who may approve it; without a terminal what it asks for is left out, with a notice.
 */
export async function gated(invocation: Invocation, qmd: QmdHome): Promise<QmdHome> {
  if (qmd.trust.state !== "untrusted") {
    noteHome(qmd);
    return qmd;
  }
  const lines = untrustedNotice(qmd.trust, invocation.program);
  if (process.stdin.isTTY && isOnTerminal()) {
    const items = lines.filter((line) => line.startsWith("  "));
    for (const line of [`${qmd.places.configPath} asks for:`, ...items]) notice(line);
    if (/^\s*y(es)?\s*$/i.test(prompt("Trust this project's .qmd config? [y/N]") ?? "")) {
      await recordTrust(qmd.places.trustFile, qmd.places.configPath, qmd.trust.digest);
      return qmdHomeOf(invocation);
    }
  } else for (const line of lines) notice(line);
  noteHome(qmd);
  return qmd;
}
