import { readFileSync } from "node:fs";
import { isLoopback } from "../../embed/hosts.ts";
import { MemqError, messageOf, reasonOf, usageError } from "../../errors.ts";
import { asDaemon, isDaemon, startDaemon } from "../../gateway/mcp/daemon.ts";
import type { Access } from "../../gateway/mcp/guards.ts";
import { startHttp } from "../../gateway/mcp/http.ts";
import { notice, writeOut } from "../../output.ts";
import type { Invocation } from "../parse.ts";
import { flag, number, value } from "../parse.ts";
import { daemonPlace, stopCommand, surfaceOf } from "./mcp-home.ts";

const DEFAULT_PORT = 8181;

/** `mcp --http`: serves until a signal comes; with `--daemon` another process does, and this one ends when that is ready. */
export async function runHttp(invocation: Invocation): Promise<void> {
  const access = accessOf(invocation);
  if (!flag(invocation, "daemon"))
    return isDaemon() ? serveInBackground(invocation, access) : serve(invocation, access);
  const { files, env } = await daemonPlace(invocation);
  const args = process.argv.slice(2).filter((word) => word !== "--daemon");
  const stop = stopCommand(invocation);
  const http = flag(invocation, "http") ? [] : ["--http"];
  const { pid, url } = await startDaemon(files, { args: [...args, ...http], env, stopCommand: stop });
  writeOut(`Started on ${url} (PID ${pid})\nLogs: ${files.logFile}\n`);
  // Alone it stops the server of the user's notes.
  if (stop !== `${invocation.program} mcp stop`) notice(`Stop it with: ${stop}`);
}

async function serveInBackground(invocation: Invocation, access: Access): Promise<void> {
  const { files } = await daemonPlace(invocation);
  await asDaemon(files, stopCommand(invocation), (ready) => serve(invocation, access, ready));
}

/** Resolves after a signal, when everything is closed. */
async function serve(invocation: Invocation, access: Access, ready: () => void = () => {}): Promise<void> {
  const { program } = invocation;
  const port = number(invocation, "port") ?? DEFAULT_PORT;
  const surface = await surfaceOf(invocation);
  const server = startHttp({ surface, identity: { name: program }, access, port, log: notice });
  process.on("unhandledRejection", (error) => notice(messageOf(error)));
  if (!isLoopback(access.host) && access.token === null) {
    notice(`warning: anybody who reaches ${access.host} can read these notes; --token-file asks for a token.`);
  }
  notice(`${program === "qmd" ? "QMD" : program} MCP server listening on ${server.url}`);
  ready();
  const signal = await new Promise<string>((resolve) => {
    for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(name, () => resolve(name));
  });
  notice(`Shutting down (${signal})...`);
  await server.stop();
  await surface.close();
}

function accessOf(invocation: Invocation): Access {
  const list = (name: string): string[] =>
    (process.env[name] ?? "")
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "");
  return {
    host: value(invocation, "host") ?? (process.env["QMD_HOST"] || "localhost"),
    allowedHosts: list("QMD_ALLOWED_HOSTS"),
    allowedOrigins: list("QMD_ALLOWED_ORIGINS"),
    token: tokenOf(value(invocation, "token-file")),
  };
}

function tokenOf(path: string | undefined): string | null {
  if (path === undefined) return null;
  let token: string;
  try {
    token = readFileSync(path, "utf8").trim();
  } catch (error) {
    throw new MemqError("TOKEN_FILE", `The token file ${path} can't be read: ${reasonOf(error)}.`);
  }
  if (/^\S+$/.test(token)) return token;
  throw usageError(`the token file ${path} does not hold one word`, "Write a long random word into it.");
}
