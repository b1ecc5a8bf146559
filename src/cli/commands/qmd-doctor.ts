import { messageOf } from "../../errors.ts";
import { writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import {
  configurationFindings,
  environmentFindings,
  type Finding,
  indexFindings,
  modelFindings,
} from "../qmd/diagnosis.ts";
import { qmdHomeOf } from "../qmd/home.ts";

/** `doctor`: what this installation consists of and what is wrong with it. Never fails. */
export async function run(invocation: Invocation): Promise<void> {
  const { program } = invocation;
  const findings: Finding[] = [];
  writeOut(`${program === "qmd" ? "QMD" : "memq"} Doctor\n\n`);
  const show = (found: readonly Finding[]): void => {
    for (const { ok, label, details, more = [] } of found) {
      writeOut([`${ok ? "✓" : "⚠"} ${label}: ${details}`, ...more.map((line) => `  - ${line}`), ""].join("\n"));
    }
    findings.push(...found);
  };
  try {
    const qmd = await qmdHomeOf(invocation);
    writeOut(`Index: ${qmd.places.indexPath}\nRuntime: bun:sqlite\n\n`);
    show(configurationFindings(qmd, program));
    show(environmentFindings(process.env));
    show(await attempt("index", () => indexFindings(qmd, program)));
    show(await attempt("models", () => modelFindings(qmd, program)));
  } catch (error) {
    show([{ ok: false, label: "index config", details: messageOf(error), advice: "Correct the configuration file." }]);
    show(environmentFindings(process.env));
  }
  const steps = [...new Set(findings.flatMap((finding) => finding.advice ?? []))];
  // Embedding comes last: it needs what the others bring.
  const isEmbedding = (step: string): number => Number(step.startsWith(`Run '${program} embed'`));
  const advice = steps.toSorted((one, other) => isEmbedding(one) - isEmbedding(other));
  if (advice.length === 0) writeOut("\nNothing to do.\n");
  else
    writeOut(`\nRecommended next step${advice.length > 1 ? "s" : ""}\n${advice.map((one) => `  ${one}\n`).join("")}`);
}

async function attempt(label: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [{ ok: false, label, details: messageOf(error) }];
  }
}
