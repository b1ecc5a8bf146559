import { FORMATS } from "../options.ts";
import type { Invocation } from "../parse.ts";
import { flag, value } from "../parse.ts";

/** How results are printed. */
export type Format = (typeof FORMATS)[number];

/** The older flags, the first that was given counts. */
const FLAGS = ["csv", "md", "xml", "files", "json"] as const;

/** The format asked for; `--format` beats the flags. */
export function formatOf(invocation: Invocation): Format {
  const named = value(invocation, "format")?.trim().toLowerCase();
  return FORMATS.find((format) => format === named) ?? FLAGS.find((name) => flag(invocation, name)) ?? "cli";
}

/** A value of a CSV row (RFC 4180): quoted where it must be. */
export function csvValue(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A text as it stands in XML; what XML 1.0 can't hold at all becomes U+FFFD. */
export function xmlText(text: string): string {
  return storable(text).replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

/** A text as the value of an XML attribute, where a reader would turn line ends into blanks. */
export function xmlAttribute(text: string): string {
  return xmlText(text).replace(/[\t\n\r]/g, (char) => `&#${char.charCodeAt(0)};`);
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

function storable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}
