import { realpathSync } from "node:fs";
import { type QmdHome, resolveQmdHome } from "../../home/qmd-home.ts";
import { changingTrusted, isProjectConfig, recordTrust } from "../../home/trust.ts";
import { notice } from "../../output.ts";
import { noticesOf, type OpenQmd, openQmd } from "../../qmd/open.ts";
import type { Invocation } from "../parse.ts";
import { value } from "../parse.ts";

/** The qmd home that `--index` and the current folder lead to. Nothing is written. */
export function qmdHomeOf(invocation: Invocation): Promise<QmdHome> {
  return resolveQmdHome({ index: value(invocation, "index"), env: process.env, cwd: process.cwd() });
}

/** The same home with its index open for reading; what is to be known of it is said on stderr. */
export function openedQmd(invocation: Invocation): Promise<OpenQmd> {
  return openQmd(value(invocation, "index"), { program: invocation.program, notice });
}

/** Says which collections are left out because the project's configuration is not trusted, and which of its keys look misspelt. */
export function noteHome(qmd: QmdHome): void {
  for (const sentence of noticesOf(qmd)) notice(sentence);
}

/**
 * Changes the configuration by `edit`, and keeps a project's trusted when its owner changes it so. What was not approved before is not
 * approved by the way: then nothing is recorded. Answers with the home as it is then.
 */
export async function editTrusted(
  invocation: Invocation,
  before: QmdHome,
  edit: () => Promise<unknown>,
): Promise<QmdHome> {
  const step = async (): Promise<QmdHome> => {
    await edit();
    return keepTrust(invocation, before);
  };
  const { configPath } = before.places;
  return isProjectConfig(configPath) && before.trust.state !== "untrusted" ? changingTrusted(configPath, step) : step();
}

async function keepTrust(invocation: Invocation, before: QmdHome): Promise<QmdHome> {
  const after = await qmdHomeOf(invocation);
  const { configPath, trustFile } = after.places;
  if (!isProjectConfig(configPath) || before.trust.state === "untrusted" || after.trust.state === "open") return after;
  if (after.trust.digest !== before.trust.digest) await recordTrust(trustFile, configPath, after.trust.digest);
  return qmdHomeOf(invocation);
}

/** The current folder as the user's shell names it, links and all, where that is the same folder. */
export function shellFolder(): string {
  const named = process.env["PWD"];
  const actual = process.cwd();
  try {
    return named !== undefined && named.startsWith("/") && realpathSync(named) === realpathSync(actual)
      ? named
      : actual;
  } catch {
    return actual;
  }
}
