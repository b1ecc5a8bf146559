import { VERSION } from "../../version.ts";
import * as api from "./plug/api.ts" with { type: "text" };
import * as index from "./plug/index.ts" with { type: "text" };
import * as manifest from "./plug/openclaw.plugin.json" with { type: "text" };
import * as packageJson from "./plug/package.json" with { type: "text" };
import * as rpcChild from "./plug/rpc-child.ts" with { type: "text" };
import * as tools from "./plug/tools.ts" with { type: "text" };

/** The files of the plug by name, as the gateway loads them; the program carries them as text. */
export function plugFiles(): Record<string, string> {
  return {
    "api.ts": textOf(api),
    "index.ts": textOf(index),
    "openclaw.plugin.json": withVersion(textOf(manifest)),
    "package.json": withVersion(textOf(packageJson)),
    "rpc-child.ts": textOf(rpcChild),
    "tools.ts": textOf(tools),
  };
}

/** Imported as text, whatever the types of the module say. */
function textOf(imported: object): string {
  return String((imported as { default?: unknown }).default);
}

/** The plug is as old as the program that carries it. */
function withVersion(json: string): string {
  return json.replace(/"version": "[^"]*"/, `"version": ${JSON.stringify(VERSION)}`);
}
