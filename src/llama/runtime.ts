import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import type { Llama } from "node-llama-cpp";
import { MemqError, messageOf } from "../errors.ts";
import { llamaPlatform, nativeFolder } from "./native.ts";

declare global {
  // Read by the module that the build puts in place of node-llama-cpp's native packages.
  var __memqNativeFolder: string | undefined;
}

/** llama.cpp, loaded, with the errors that it logged: what it throws says little and its log says more. */
export type Runtime = { llama: Llama; complaints: string[] };

/** Loads llama.cpp into this process. Only a model host does, since native code may end the process. */
export async function loadRuntime(log: (line: string) => void): Promise<Runtime> {
  const folder = await nativeFolder();
  globalThis.__memqNativeFolder = folder;
  const { getLlama, LlamaLogLevel } = await import("node-llama-cpp");
  const complaints: string[] = [];
  try {
    const llama = await getLlama({
      build: "never",
      skipDownload: true,
      usePrebuiltBinaries: true,
      progressLogs: false,
      gpu: wantsGpu(process.platform, process.env) ? "auto" : false,
      // Contexts set their own number; this is only the most that they may share.
      maxThreads: availableParallelism(),
      logLevel: LlamaLogLevel.warn,
      logger(level, message) {
        log(`${level}: ${message.trimEnd()}`);
        if (level === LlamaLogLevel.error || level === LlamaLogLevel.fatal) complaints.push(message.trim());
      },
    });
    return { llama, complaints };
  } catch (error) {
    throw new MemqError("NATIVE_UNSUPPORTED", await loadFailure(folder, error), {
      hint: "Local models need glibc 2.34 and libstdc++ (Debian 12, Ubuntu 22.04 or later); set a remote embedding provider instead.",
      cause: error,
    });
  }
}

/** GPU builds are bundled for Apple silicon alone (Metal); `MEMQ_GPU`, or qmd's variables, can turn it off. */
function wantsGpu(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): boolean {
  if (platform !== "darwin") return false;
  const isOff = (value: string | undefined) => /^(false|off|none|disable|disabled|0|no)$/i.test(value ?? "");
  const forced = env["QMD_FORCE_CPU"];
  return (
    !isOff(env["MEMQ_GPU"]) && !isOff(env["QMD_LLAMA_GPU"]) && (forced === undefined || forced === "" || isOff(forced))
  );
}

/** node-llama-cpp keeps to itself why the addon did not load, so it is loaded once more to hear it. */
async function loadFailure(folder: string, error: unknown): Promise<string> {
  const addon = join(folder, llamaPlatform(), "llama-addon.node");
  try {
    process.dlopen({ exports: {} }, addon);
  } catch (reason) {
    return loaderSentence(messageOf(reason));
  }
  return `Local models can't run from ${dirname(addon)}: ${messageOf(error).split("\n")[0]}`;
}

/** What the dynamic loader complains about, in one sentence. */
export function loaderSentence(complaint: string): string {
  const symbol = /version [`'"]?((?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)/.exec(complaint)?.[1];
  if (symbol !== undefined) {
    return `Local models can't run: this system's C libraries are too old (${symbol} is missing).`;
  }
  const library = /(\S+\.so[.\d]*): cannot open shared object/.exec(complaint)?.[1];
  if (library !== undefined) return `Local models can't run: ${library} is not installed.`;
  return `Local models can't run: ${complaint.split("\n")[0]}`;
}
