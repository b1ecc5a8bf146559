import { writeOut } from "../../output.ts";
import { printableLine, printableName, printableText } from "../../printable.ts";
import type { Row } from "../../qmd/rows.ts";
import { numbered } from "../../qmd/text.ts";
import { csvValue, type Format, xmlAttribute, xmlText } from "./format.ts";

export type PrintOptions = {
  lineNumbers: boolean;
  fullPath: boolean;
  /** Something was found, but nothing that reaches the minimum score. */
  belowMinimum: boolean;
  /** What a terminal is shown instead of plain text; absent elsewhere. */
  decoration?: Decoration | undefined;
};

/** How a terminal shows the parts of a row. */
export type Decoration = {
  name(row: Row, text: string): string;
  title(text: string): string;
  text(text: string): string;
};

/** Prints search results; an empty answer has a form of its own in each format. */
export function printRows(format: Format, rows: readonly Row[], options: PrintOptions): void {
  writeOut(PRINTERS[format](rows, options));
}

type Printer = (rows: readonly Row[], options: PrintOptions) => string;

const PRINTERS: Record<Format, Printer> = {
  json(rows, { lineNumbers }) {
    return `${JSON.stringify(
      rows.map((row) => jsonRow(row, lineNumbers)),
      null,
      2,
    )}\n`;
  },

  csv(rows, { lineNumbers }) {
    const lines = rows.map((row) => {
      const text = lineNumbers ? numbered(row.text, row.whole ? 1 : row.line) : row.text;
      const values = [
        row.docid ?? "",
        row.score.toFixed(4),
        row.file,
        row.title,
        row.context ?? "",
        String(row.line),
        text,
      ];
      return values.map(csvValue).join(",");
    });
    return `${["docid,score,file,title,context,line,snippet", ...lines].join("\n")}\n`;
  },

  md(rows, { lineNumbers }) {
    return rows
      .map((row) => {
        const docid = row.docid === undefined ? "" : `**docid:** \`${row.docid}\`\n`;
        const context = row.context === undefined ? "" : `**context:** ${row.context}\n`;
        const text = lineNumbers ? numbered(row.text, 1) : row.text;
        return `---\n# ${row.title || row.file}\n**file:** \`${row.file}\`\n${docid}${context}\n${text}\n\n`;
      })
      .join("");
  },

  xml(rows, { lineNumbers }) {
    if (rows.length === 0) return "<results></results>\n";
    const files = rows.map((row) => {
      const docid = row.docid === undefined ? "" : ` docid="${row.docid}"`;
      const title = row.title === "" ? "" : ` title="${xmlAttribute(row.title)}"`;
      const context = row.context === undefined ? "" : ` context="${xmlAttribute(row.context)}"`;
      const text = xmlText(lineNumbers ? numbered(row.text, 1) : row.text);
      return `<file${docid} name="${xmlAttribute(row.file)}"${title}${context}>\n${text}\n</file>\n`;
    });
    return `<results>\n${files.join("\n")}</results>\n`;
  },

  files(rows, { fullPath }) {
    return rows
      .map((row) => {
        const docid = fullPath ? "" : `${row.docid ?? ""},`;
        const context = row.context === undefined ? "" : `,"${row.context.replaceAll('"', '""')}"`;
        return `${docid}${row.score.toFixed(2)},${row.file}${context}\n`;
      })
      .join("");
  },

  cli(rows, options) {
    if (rows.length > 0) return `${rows.map((row) => cliRow(row, options)).join("\n\n\n")}\n`;
    return options.belowMinimum ? "No results found above minimum score threshold.\n" : "No results found.\n";
  },
};

function jsonRow(row: Row, lineNumbers: boolean): object {
  const text = lineNumbers ? numbered(row.text, 1) : row.text;
  const { docid, score, file, line, title, context, whole, explain, collection, path, startLine, endLine } = row;
  return {
    ...(docid === undefined ? {} : { docid }),
    score: Math.round(score * 100) / 100,
    file,
    line,
    title,
    ...(context === undefined ? {} : { context }),
    ...(whole ? { body: text } : { snippet: text }),
    ...(explain === undefined ? {} : { explain }),
    collection,
    path,
    start_line: startLine,
    end_line: endLine,
  };
}

function cliRow(row: Row, { lineNumbers, decoration }: PrintOptions): string {
  const file = printableName(row.file);
  const place = row.matches ? `${file}:${row.line}` : file;
  const text = printableText(lineNumbers ? numbered(row.text, row.whole ? 1 : row.line) : row.text);
  const title = printableLine(row.title);
  const lines = [
    `${decoration?.name(row, place) ?? place}${row.docid === undefined ? "" : ` ${row.docid}`}`,
    `Title: ${decoration?.title(title) ?? title}`,
    ...(row.context === undefined ? [] : [`Context: ${printableText(row.context)}`]),
    `Score: ${String(Math.round(row.score * 100)).padStart(3)}%`,
    ...(row.explained ?? []),
    "",
    decoration?.text(text) ?? text,
  ];
  return lines.join("\n");
}
