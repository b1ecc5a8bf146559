import { isObject, textAt, valueAt, type JsonObject, type JsonValue } from "../json.ts";
import { wrongType } from "./key-values.ts";
import type { ScopePolicy, ScopeRule } from "./types.ts";

/** What holds with the qmd backend when no scope is configured: only direct chats may search. */
export const DIRECT_CHATS_ONLY: ScopePolicy = {
  default: "deny",
  rules: [{ action: "allow", match: { chatType: "direct" } }],
};

/** The policy written at `path` of the configuration; without `default` everything is allowed. Throws `CONFIG_TYPE`. */
export function scopePolicy(value: JsonObject, path: string): ScopePolicy {
  const rules = value["rules"] ?? [];
  if (!Array.isArray(rules)) throw wrongType(`${path}.rules`, "a list of {action, match}", rules);
  return {
    default: actionAt(value["default"] ?? "allow", `${path}.default`),
    rules: rules.map((rule, at) => scopeRule(rule, `${path}.rules[${at}]`)),
  };
}

function scopeRule(value: JsonValue, path: string): ScopeRule {
  if (!isObject(value)) throw wrongType(path, "an object {action, match}", value);
  const match = value["match"] ?? {};
  if (!isObject(match)) throw wrongType(`${path}.match`, "an object", match);
  const rule: ScopeRule = { action: actionAt(value["action"] ?? null, `${path}.action`), match: {} };
  for (const field of ["channel", "chatType", "keyPrefix", "rawKeyPrefix"] as const) {
    const given = valueAt(match, [field]);
    if (given !== undefined && typeof given !== "string") throw wrongType(`${path}.match.${field}`, "a text", given);
    const text = textAt(match, [field])?.toLowerCase();
    if (text !== undefined) rule.match[field] = text;
  }
  return rule;
}

function actionAt(value: JsonValue, path: string): "allow" | "deny" {
  if (value === "allow" || value === "deny") return value;
  throw wrongType(path, '"allow" or "deny"', value);
}
