import { existsSync } from "node:fs";
import { DEFAULT_QMD_MODELS, withModelSpec } from "../../embed/spec.ts";
import type { QmdHome } from "../../home/qmd-home.ts";
import { withoutCredentials } from "../../printable.ts";
import { documentCounts, documentsWithoutPassages } from "../../store/documents.ts";
import { integrityProblem, sqliteVersion, vectorEngine, vectorGroups } from "../../store/health.ts";
import { ofOtherWeights, servingIdentity } from "../../store/identity.ts";
import { writerOf } from "../../store/lock.ts";
import { indexSizes, orphanedVectorKeys, vectorCount } from "../../store/maintenance.ts";
import { openIndex } from "../../store/open.ts";
import type { Index } from "../../store/types.ts";
import { pendingEmbeddings, wantedIdentity } from "../../sync/pending.ts";
import { outdatedCollections } from "../../sync/sync-collection.ts";
import type { Program } from "../../version.ts";
import { sizeText } from "./words.ts";

/** One thing that was looked at; `advice` is what to do about it. */
export type Finding = { ok: boolean; label: string; details: string; more?: string[]; advice?: string[] | string };

/** Variables that change what the commands do, and how. */
const VARIABLES: Record<string, string> = {
  INDEX_PATH: "the index file",
  QMD_CONFIG_DIR: "where index.yml is",
  XDG_CONFIG_HOME: "where the configuration folder is",
  XDG_CACHE_HOME: "where index and models are",
  QMD_EMBED_MODEL: "the embedding model, unless index.yml names one",
  QMD_RERANK_MODEL: "the reranking model, unless index.yml names one",
  QMD_GENERATE_MODEL: "the expansion model, unless index.yml names one",
  QMD_EMBED_CONTEXT_SIZE: "tokens of a text that the embedding model reads",
  QMD_EXPAND_CONTEXT_SIZE: "tokens that the expansion model reads and writes",
  QMD_RERANK_CONTEXT_SIZE: "tokens of a question and a text that the reranking model reads",
  QMD_FORCE_CPU: "no GPU",
  QMD_LLAMA_GPU: "which GPU",
  MEMQ_GPU: "whether the GPU is used",
  MEMQ_MODEL_THREADS: "threads of local models",
  MEMQ_MODEL_IDLE_MS: "how long local models stay loaded",
  MEMQ_NO_VEC: "vectors in plain tables",
  MEMQ_DEADLINE_MS: "how long a search may take",
  QMD_SQLITE_BUSY_TIMEOUT: "how long a writer waits for another",
  QMD_TRUST_LOCAL_CONFIG: "project configurations run unasked",
  QMD_TRUST_UPDATE_HOOKS: "project configurations run unasked",
  QMD_EDITOR_URI: "where links lead",
  QMD_SKILLS_DIR: "which skills are shown",
  HF_ENDPOINT: "where models are downloaded from",
  HF_TOKEN: "sent with downloads from the hub",
  HTTPS_PROXY: "how the network is reached",
  NO_COLOR: "no colours",
};
const SECRET = new Set(["HF_TOKEN", "HTTPS_PROXY"]);
/** Passed over by what they are for unless they are whole numbers. */
const NUMBERS = /(_CONTEXT_SIZE|_THREADS|_MS|_TIMEOUT)$/;

/** The configuration file: where, what is in it, and whether it may do what it asks for. */
export function configurationFindings(qmd: QmdHome, program: Program): Finding[] {
  const { config, hasConfig, home, places, trust } = qmd;
  const missing = home.collections.filter(({ root }) => !existsSync(root));
  const findings: Finding[] = [
    {
      ok: config.issues.length === 0,
      label: "index config",
      details: hasConfig
        ? `${places.configPath}, ${config.collections.length} collection(s)`
        : `none yet (${places.configPath})`,
      more: config.issues,
    },
  ];
  if (config.collections.length === 0) findings[0] = withAdvice(findings[0], `Run '${program} collection add <path>'.`);
  if (missing.length > 0) {
    findings.push({
      ok: false,
      label: "collection folders",
      details: "some are missing",
      more: missing.map(({ name, root }) => `${name}: ${root}`),
      advice: `Bring the folders back, or run '${program} collection remove <name>'.`,
    });
  }
  if (trust.state === "untrusted") {
    findings.push({
      ok: false,
      label: "project trust",
      details: "this project's configuration asks for more than it may",
      advice: `Read ${places.configPath}, then run '${program} trust'.`,
    });
  }
  return findings;
}

function withAdvice(finding: Finding | undefined, advice: string): Finding {
  return { ...(finding ?? { ok: true, label: "", details: "" }), advice };
}

/** Variables in force that change what happens; keys are not shown. */
export function environmentFindings(env: Readonly<Record<string, string | undefined>>): Finding[] {
  const set = Object.entries(VARIABLES).filter(([name]) => env[name] !== undefined && env[name] !== "");
  const isWrong = (name: string): boolean => NUMBERS.test(name) && !/^\d+$/.test(env[name] ?? "");
  return [
    {
      ok: !set.some(([name]) => isWrong(name)),
      label: "environment overrides",
      details: set.length === 0 ? "none" : String(set.length),
      more: set.map(
        ([name, effect]) =>
          `${name}=${SECRET.has(name) ? "(set)" : withoutCredentials(env[name] ?? "")}: ${isWrong(name) ? "no whole number, and so without effect" : effect}`,
      ),
    },
  ];
}

/** The index file: engine, health, and what is left to do in it. */
export async function indexFindings(qmd: QmdHome, program: Program): Promise<Finding[]> {
  const path = qmd.places.indexPath;
  const index = openIndex(path, { mode: "read" });
  try {
    const { file, wal } = indexSizes(path);
    const engine = vectorEngine(index);
    const findings: Finding[] = [
      { ok: true, label: "SQLite runtime", details: `SQLite ${sqliteVersion(index)}, built in` },
      {
        ok: true,
        label: "vector engine",
        details: engine === "vec0" ? "sqlite-vec" : "plain tables, scanned in process (sqlite-vec does not load here)",
      },
      health(index, qmd, `${sizeText(file)}${wal > 0 ? ` and ${sizeText(wal)} of journal` : ""}`, program),
    ];
    const writer = writerOf(path) ?? writerOf(`${path}.embed`);
    if (writer !== null) findings.push({ ok: true, label: "writer", details: `process ${writer} is writing to it` });
    if (index.state === "ready" || index.state === "unprepared") {
      findings.push(...(await embeddingFindings(index, qmd, program)));
    }
    return findings;
  } finally {
    index.close();
  }
}

function health(index: Index, { home }: QmdHome, size: string, program: Program): Finding {
  const label = "index health";
  if (index.state === "missing") {
    return { ok: true, label, details: "nothing is indexed yet", advice: `Run '${program} update'.` };
  }
  if (index.state === "damaged") {
    const advice = `Run '${program} update': it sets the file aside and rebuilds the index from your notes.`;
    return { ok: false, label, details: index.warnings.join(" "), advice };
  }
  const problem = integrityProblem(index);
  if (problem !== null) {
    const advice = `Move the file away and run '${program} update': the index is rebuilt from your notes.`;
    return { ok: false, label, details: problem, advice };
  }
  const uncut = documentsWithoutPassages(index).length;
  const total = documentCounts(index).reduce((sum, { count }) => sum + count, 0);
  const details = `sound, ${total} documents, ${size}`;
  const outdated = index.state === "ready" ? outdatedCollections(index, home).join(", ") : "";
  if (outdated !== "") {
    const advice = `Run '${program} update': until then some words of theirs are not found.`;
    return { ok: false, label, details: `${details}; indexed by an earlier version: ${outdated}`, advice };
  }
  return uncut === 0
    ? { ok: true, label, details }
    : { ok: true, label, details: `${details}; ${uncut} written by qmd alone`, advice: `Run '${program} update'.` };
}

async function embeddingFindings(index: Index, qmd: QmdHome, program: Program): Promise<Finding[]> {
  const vectors = vectorCount(index);
  const pending = await pendingEmbeddings(index, qmd.home);
  const orphans = orphanedVectorKeys(index).length;
  const groups = vectorGroups(index);
  const wanted = await wantedIdentity(qmd.home);
  const strange = groups.filter(
    ({ model, fingerprint }) => wanted !== null && (model !== wanted.model || fingerprint !== wanted.fingerprint),
  );
  const serving = servingIdentity(index);
  const isReplaced = wanted !== null && serving !== null && ofOtherWeights(wanted, serving);
  const isStrange = strange.length > 0 || isReplaced;
  return [
    {
      ok: pending.documents === 0,
      label: "embedding freshness",
      details:
        pending.documents === 0 ? `${vectors} vectors, none missing` : `${pending.documents} documents need embedding`,
      ...(pending.documents === 0 || isStrange ? {} : { advice: `Run '${program} embed'.` }),
    },
    {
      ok: !isStrange,
      label: "embedding fingerprints",
      details:
        groups.length === 0
          ? "no vectors yet"
          : strange.length > 0
            ? "of other models"
            : isReplaced
              ? "of the model as it was before its file was replaced"
              : "all of the model in force",
      more: strange.map(({ model, fingerprint, count }) => `${count} of ${withoutCredentials(model)} (${fingerprint})`),
      ...(isStrange ? { advice: `Run '${program} embed'; until it is done, words alone are searched.` } : {}),
    },
    ...(orphans === 0
      ? []
      : [{ ok: false, label: "orphaned vectors", details: String(orphans), advice: `Run '${program} cleanup'.` }]),
  ];
}

/** The models: which, whether they are here, and how fast this machine embeds. */
export async function modelFindings(qmd: QmdHome, program: Program): Promise<Finding[]> {
  const { modelFolders, presentModel } = await import("../../llama/models.ts");
  const folders = modelFolders("qmd", qmd.places.modelsDir);
  const { models } = qmd;
  const slots = ["embed", "rerank", "generate"] as const;
  const changed = slots.filter((slot) => models[slot] !== DEFAULT_QMD_MODELS[slot]);
  const findings: Finding[] = [
    {
      ok: true,
      label: "model defaults",
      details: changed.length === 0 ? "qmd's own three" : "changed",
      more: changed.map((slot) => `${slot}: ${withoutCredentials(models[slot])}`),
    },
  ];
  const settings = withModelSpec(qmd.home.embedding, "qmd");
  const cache = slots.map((slot) => ({ slot, path: attempted(() => presentModel(models[slot], folders)) }));
  const absent = cache.filter(({ slot, path }) => path === null && isGguf(models[slot]));
  findings.push({
    ok: absent.length === 0,
    label: "model cache",
    details: absent.length === 0 ? "every model is here" : `not here: ${absent.map(({ slot }) => slot).join(", ")}`,
    more: cache.flatMap(({ slot, path }) => (path === null ? [] : [`${slot}: ${path}`])),
    ...(absent.length === 0 ? {} : { advice: `Run '${program} pull' while online. Keyword search needs no model.` }),
  });
  if (settings.provider !== "local") return [...findings, await providerFinding(qmd)];
  if (/^(0|false|off|no|skip)$/i.test(process.env["QMD_DOCTOR_DEVICE_PROBE"] ?? "")) {
    return [...findings, { ok: true, label: "device probe", details: "left out (QMD_DOCTOR_DEVICE_PROBE)" }];
  }
  const { doctorFacts } = await import("../../llama/doctor.ts");
  const facts = await doctorFacts(models.embed, folders, AbortSignal.timeout(30_000));
  const speed = facts.textsPerSecond === null ? "" : `, ${facts.textsPerSecond} texts of 100 words a second`;
  findings.push({
    ok: facts.backend !== null,
    label: "device probe",
    details:
      facts.backend === null
        ? "local models can't run here"
        : `${facts.backend}, ${facts.threads} thread${facts.threads === 1 ? "" : "s"}${speed}`,
    more: facts.problems,
    ...(facts.backend === null
      ? { advice: "Name a remote provider as models.embed, for example openai:text-embedding-3-small." }
      : {}),
  });
  return findings;
}

function isGguf(uri: string): boolean {
  return /\.gguf$/i.test(uri) || uri.startsWith("hf:");
}

function attempted<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

/** Whether a remote provider answers. */
async function providerFinding({ home, config, places }: QmdHome): Promise<Finding> {
  const { openProvider } = await import("../../embed/registry.ts");
  const label = "embedding provider";
  if (home.embedding.provider === "none") return { ok: true, label, details: "none: keywords only" };
  const { provider, reason } = await openProvider(home.embedding, { kind: "qmd" });
  if (provider === undefined) return { ok: false, label, details: reason ?? "none" };
  try {
    const { keyOriginOf, probedProvider } = await import("../../embed/probe.ts");
    const { ok, dims, ms, textsPerSecond, error } = await probedProvider(provider);
    const key = keyOriginOf(home.embedding, provider.id);
    const more = [
      `chosen by ${config.models.embed === undefined ? "QMD_EMBED_MODEL" : `models.embed in ${places.configPath}`}`,
      key === undefined ? "no key" : `key from ${key}`,
    ];
    const named = `${provider.id}, ${provider.model} at ${provider.endpoint}`;
    if (!ok) {
      const advice = "Check the provider's key and address.";
      return { ok, label, details: `${named}: ${error}`, more, advice };
    }
    const speed = `${dims} dimensions in ${ms} ms, ${textsPerSecond} texts of 100 words a second`;
    return { ok, label, details: `${named}: ${speed}`, more };
  } finally {
    await provider.close();
  }
}
