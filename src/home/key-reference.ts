import type { KeySpec } from "./key-spec.ts";
import { KEY_GROUPS } from "./keys.ts";

/** The reference of every configuration key in Markdown: one table per group of the table of keys. */
export function keyReference(): string {
  return KEY_GROUPS.map(({ title, keys }) =>
    [`### ${title}`, "", "| key | type | default | meaning |", "|---|---|---|---|", ...keys.map(referenceRow), ""].join(
      "\n",
    ),
  ).join("\n");
}

function referenceRow(key: KeySpec): string {
  const preset = key.default === undefined ? "–" : `\`${JSON.stringify(key.default)}\``;
  return `| \`${key.path}\` | ${typeInWords(key)} | ${preset} | ${key.description.replaceAll("|", String.raw`\|`)} |`;
}

const WORDS: Partial<Record<KeySpec["type"], string>> = {
  boolean: "true or false",
  integer: "whole number",
  choices: "list",
  texts: "list of texts",
  paths: "list of paths",
  headers: "map of texts",
  secret: "text or reference",
  size: "number or `auto`",
  sendPolicy: "object",
};

function typeInWords(key: KeySpec): string {
  if (key.values !== undefined) {
    const values = key.values.map((value) => `\`${value}\``).join(", ");
    return key.type === "choices" ? `list of ${values}` : values;
  }
  const words = WORDS[key.type] ?? key.type;
  if (key.min === undefined && key.max === undefined) return words;
  if (key.max === undefined) return `${words}, at least ${key.min}`;
  return `${words}, ${key.min ?? "up"} to ${key.max}`;
}
