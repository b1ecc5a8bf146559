import { parseModelSpec } from "../../embed/spec.ts";
import { MemqError, messageOf } from "../../errors.ts";
import { notice, showProgress, writeOut } from "../../output.ts";
import { withoutCredentials } from "../../printable.ts";
import { modelFolders, pullModel } from "../../llama/models.ts";
import type { Invocation } from "../parse.ts";
import { flag } from "../parse.ts";
import { qmdHomeOf } from "../qmd/home.ts";
import { gated } from "../qmd/trust-gate.ts";
import { sizeText } from "../qmd/words.ts";

/**
 * `pull [--refresh]`: brings the home's models to this machine. A model that is here is left alone unless `--refresh` asks whether
 * there is another version, and replaced only by one that arrived whole.
 */
export async function run(invocation: Invocation): Promise<void> {
  const qmd = await gated(invocation, await qmdHomeOf(invocation));
  const refresh = flag(invocation, "refresh");
  const folders = modelFolders("qmd", qmd.places.modelsDir);
  writeOut("Pulling models\n");
  for (const slot of ["embed", "generate", "rerank"] as const) {
    const uri = qmd.models[slot];
    const { provider } = parseModelSpec(uri);
    if (provider !== "local") {
      writeOut(`- ${withoutCredentials(uri)} (${provider === "none" ? "no model" : `served by ${provider}`})\n`);
      continue;
    }
    try {
      const { path, bytes, downloaded } = await pullModel(uri, folders, {
        refresh,
        onProgress: ({ file, received, total }) =>
          showProgress(
            `${file} ${sizeText(received)}${total > 0 ? ` of ${sizeText(total)}` : ""}`,
            total > 0 ? received / total : undefined,
          ),
        onWait: () => notice("Waiting for another process that is downloading."),
      }).finally(() => showProgress(""));
      writeOut(
        `- ${withoutCredentials(uri)} -> ${path} (${sizeText(bytes)}, ${downloaded ? "refreshed" : "cached/checked"})\n`,
      );
    } catch (error) {
      const variable = { embed: "QMD_EMBED_MODEL", generate: "QMD_GENERATE_MODEL", rerank: "QMD_RERANK_MODEL" }[slot];
      const hint = error instanceof MemqError && error.hint !== undefined ? `${error.hint}\n` : "";
      throw new MemqError("PULL_FAILED", messageOf(error), {
        hint: `${hint}${variable} (or models.${slot} in ${qmd.places.configPath}) may also name a GGUF file on this machine.`,
        cause: error,
      });
    }
  }
}
