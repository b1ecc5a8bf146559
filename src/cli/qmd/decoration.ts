import { hasColor, isOnTerminal, styled } from "../../output.ts";
import type { OpenQmd } from "../../qmd/open.ts";
import type { Decoration } from "./print-rows.ts";

const DEFAULT_LINK = "vscode://file/{path}:{line}:{col}";
/** Shorter words stand everywhere. */
const LEAST_HIGHLIGHTED = 3;

/** Links and colours for results on a terminal; undefined where stdout is none. */
export function decorationFor(open: OpenQmd, query: string): Decoration | undefined {
  if (!isOnTerminal()) return undefined;
  const template = process.env["QMD_EDITOR_URI"] || open.qmd.config.editorUri || DEFAULT_LINK;
  const words = query.split(/\s+/).filter((word) => word.length >= LEAST_HIGHLIGHTED);
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join("|");
  return {
    name(row, text) {
      const shown = styled("bold", text);
      return row.disk === null ? shown : linked(editorUri(template, row.disk, row.line), shown);
    },
    title: (text) => styled("bold", text),
    text: (text) =>
      pattern === "" || !hasColor() ? text : text.replace(new RegExp(pattern, "giu"), (word) => styled("green", word)),
  };
}

/** The address that opens a file at a line in the user's editor. */
export function editorUri(template: string, path: string, line: number): string {
  const encoded = encodeURI(path).replaceAll("?", "%3F").replaceAll("#", "%23");
  const parts: Record<string, string> = { path: encoded, line: String(line), col: "1", column: "1" };
  const uri = template.replace(/\{(path|line|col|column)\}/g, (_, name: string) => parts[name] ?? "");
  // The template may have come with a checkout.
  return uri.replace(/\p{Cc}/gu, encodeURIComponent);
}

/** An OSC 8 hyperlink. */
function linked(uri: string, text: string): string {
  return `\u001B]8;;${uri}\u001B\\${text}\u001B]8;;\u001B\\`;
}
