import { statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { MemqError, usageError } from "../../errors.ts";
import { absolutePath } from "../../home/paths.ts";
import { CLIENTS } from "../../integrations/clients.ts";
import { ownCommand } from "../../integrations/own-command.ts";
import type { SetupPlan, SetupRequest } from "../../integrations/setup.ts";
import { applyPlan, hasChanges } from "../../integrations/setup.ts";
import { notice, writeJson, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { flag, value, values } from "../parse.ts";

/** `memq setup`: shows what a client's configuration needs, changes it with `--write`, or tries it with `--check`. */
export async function run(invocation: Invocation): Promise<number | void> {
  const [id] = invocation.words;
  const client = CLIENTS.find((one) => one.id === id);
  const known = CLIENTS.map((one) => one.id).join(", ");
  if (id !== undefined && client === undefined) {
    const other = `Any other MCP client is given the command '${invocation.program}' with the arguments 'mcp --workspace DIR'.`;
    throw usageError(`unknown client '${id}'`, `Known are ${known}.\n${other}`);
  }
  const request = requestOf(invocation);
  if (flag(invocation, "check")) return check(invocation, request, id);
  if (client === undefined) throw usageError("setup needs a client", `Known are ${known}.`);
  requireFolders(request);

  const plan = await client.plan(request);
  const write = flag(invocation, "write");
  const cannot = plan.after === null && plan.changes.length > 0;
  const backup = write ? await applyPlan(plan) : null;
  const { before: _before, after: _after, snippet: _snippet, files, ...shown } = plan;
  if (flag(invocation, "json")) {
    const written = write && !cannot && hasChanges(plan);
    writeJson({
      ...shown,
      files: Object.keys(files),
      editable: !cannot,
      written,
      ...(backup === null ? {} : { backup }),
    });
  } else writeOut(textOf(plan, { write, cannot, backup }));
  if (cannot && write) {
    throw new MemqError(
      "CONFIG_NOT_EDITABLE",
      `${plan.file} can't be changed without losing something in it; it was left as it is.`,
      {
        hint: "Add the lines above by hand.",
      },
    );
  }
}

function requestOf(invocation: Invocation): SetupRequest {
  return {
    command: ownCommand(process.env),
    agentId: value(invocation, "agent"),
    workspaces: values(invocation, "workspace"),
    stateDir: value(invocation, "state-dir"),
    configPath: value(invocation, "config"),
    env: process.env,
    cwd: process.cwd(),
  };
}

function requireFolders({ workspaces, cwd, env }: SetupRequest): void {
  for (const workspace of workspaces) {
    const path = absolutePath(workspace, cwd, env);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw usageError(`the workspace ${path} is no folder`);
    }
  }
}

function textOf(
  plan: SetupPlan,
  { write, cannot, backup }: { write: boolean; cannot: boolean; backup: string | null },
): string {
  if (!hasChanges(plan)) return `${plan.file}\n  memq is set up; nothing to change.\n`;
  const lines = plan.changes.map(
    ({ key, action, value }) => `  ${key} ${action === "add" ? "+=" : "="} ${JSON.stringify(value)}`,
  );
  const files = [...Map.groupBy(Object.keys(plan.files), (path) => dirname(path))].map(
    ([folder, paths]) => `${folder}\n${paths.map((path) => `  ${basename(path)}\n`).join("")}`,
  );
  const changed =
    lines.length === 0 ? "" : `${plan.file}${plan.before === null ? " (new)" : ""}\n${lines.join("\n")}\n`;
  const done = cannot
    ? `\nAdd this to ${plan.file}:\n\n${plan.snippet}`
    : write
      ? `\nWritten.${backup === null ? "" : ` The file as it was: ${backup}`}\n${plan.notes.map((note) => `${note}\n`).join("")}`
      : `\nNothing is written yet. To do it, add --write.\n`;
  return changed + files.join("") + done;
}

async function check(invocation: Invocation, request: SetupRequest, only: string | undefined): Promise<number> {
  const { checkClients } = await import("../../integrations/check.ts");
  const results = await checkClients(request, only);
  if (flag(invocation, "json")) writeJson(results);
  for (const { client, server, file, command = [], ok, version, tools = [], error } of results) {
    const name = server === "memq" ? client : `${client} (${server})`;
    if (!ok) {
      const where = file === undefined ? "" : ` as set up in ${file} (${command.join(" ")})`;
      notice(`${name}: memq${where} does not work: ${error}.`);
    } else if (!flag(invocation, "json")) {
      writeOut(`${name}: ok, memq ${version} answers with ${tools.join(", ")}\n  ${command.join(" ")}\n`);
    }
  }
  return results.every(({ ok }) => ok) ? 0 : 1;
}
