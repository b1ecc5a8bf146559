import { isObject, valueAt, type JsonObject, type JsonValue } from "../json.ts";
import { wrongType } from "./key-values.ts";

/** Objects on the way to what memory reads; something else in their place would hide every setting below without a word. */
const OBJECTS = [
  "agents",
  "agents.defaults",
  "agents.entries",
  "models",
  "models.providers",
  "plugins",
  "plugins.slots",
  "secrets",
  "secrets.providers",
  "session",
  "tools",
];
/** Texts of an agent that say where it lives. */
const TEXTS = ["id", "workspace", "agentDir"];

/** Throws `CONFIG_TYPE` where the configuration's outer structure is not what it must be. */
export function requireShape(config: JsonObject): void {
  for (const path of OBJECTS) {
    const value = valueAt(config, path.split("."));
    if (value !== undefined && !isObject(value)) throw wrongType(path, "an object", value);
  }
  const list = valueAt(config, ["agents", "list"]);
  if (list !== undefined && !Array.isArray(list)) throw wrongType("agents.list", "a list of objects", list);
  const entries = valueAt(config, ["agents", "entries"]);
  const agents: [path: string, settings: JsonValue][] = [
    ["agents.defaults", valueAt(config, ["agents", "defaults"]) ?? {}],
    ...(list ?? []).map((one, at): [string, JsonValue] => [`agents.list[${at}]`, one]),
    ...Object.entries(isObject(entries) ? entries : {}).map(([id, one]): [string, JsonValue] => [
      `agents.entries.${id}`,
      one,
    ]),
  ];
  for (const [path, settings] of agents) {
    if (!isObject(settings)) throw wrongType(path, "an object", settings);
    for (const name of TEXTS) {
      const value = settings[name];
      if (value !== undefined && typeof value !== "string") throw wrongType(`${path}.${name}`, "a text", value);
    }
  }
}
