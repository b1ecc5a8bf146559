import { MemqError } from "../../errors.ts";
import { isProjectConfig, listTrusted, recordTrust, revokeTrust, untrustedNotice } from "../../home/trust.ts";
import { writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { qmdHomeOf } from "../qmd/home.ts";

/** `trust [list|revoke]`: approves what the project's configuration asks for, lists approvals, or takes this one back. */
export async function run(invocation: Invocation): Promise<void> {
  const [action, ...more] = invocation.words;
  if ((action !== undefined && action !== "list" && action !== "revoke") || more.length > 0) {
    throw new MemqError("USAGE", `Usage: ${invocation.program} trust [list|revoke]`);
  }
  const { places, trust } = await qmdHomeOf(invocation);
  const { configPath, trustFile } = places;
  if (action === "list") return list(trustFile);
  if (action === "revoke") {
    const had = await revokeTrust(trustFile, configPath);
    return writeOut(had ? `✓ Revoked: ${configPath}\n` : `${configPath} was not trusted. Nothing to revoke.\n`);
  }
  if (!isProjectConfig(configPath)) {
    return writeOut(`${configPath} is your own config — it is never gated. Nothing to trust.\n`);
  }
  if (trust.state === "open") return writeOut(`${configPath} asks for nothing that needs trust.\n`);
  const items = untrustedNotice(trust, invocation.program).filter((line) => line.startsWith("  "));
  await recordTrust(trustFile, configPath, trust.digest);
  writeOut(`✓ Trusted: ${configPath}\n${items.join("\n")}\nA change of any of these needs a new approval.\n`);
}

async function list(trustFile: string): Promise<void> {
  const trusted = await listTrusted(trustFile);
  if (trusted.length === 0) return writeOut("No trusted project configs.\n");
  writeOut(trusted.map(({ path, trustedAt }) => `${path}  (${trustedAt})\n`).join(""));
}
