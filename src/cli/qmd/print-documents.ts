import { documentShown, writeOut } from "../../output.ts";
import { printableName, printableText } from "../../printable.ts";
import { csvValue, type Format, xmlAttribute, xmlText } from "./format.ts";

/** One document of several as it is printed: its text, or why that was left out. */
export type DocumentPrint = {
  file: string;
  docid?: string;
  title: string;
  context?: string;
  body?: string;
  skipped?: string;
};

/** Prints whole documents. */
export function printDocuments(format: Format, documents: readonly DocumentPrint[]): void {
  writeOut(PRINTERS[format](documents));
}

type Printer = (documents: readonly DocumentPrint[]) => string;

const PRINTERS: Record<Format, Printer> = {
  json(documents) {
    return `${JSON.stringify(documents.map(jsonRow), null, 2)}\n`;
  },

  csv(documents) {
    const rows = documents.map(({ docid = "", file, title, context = "", body = "", skipped }) =>
      [docid, file, title, context, String(skipped !== undefined), skipped ?? body].map(csvValue).join(","),
    );
    return `${["docid,file,title,context,skipped,body", ...rows].join("\n")}\n`;
  },

  files(documents) {
    return documents
      .map(({ docid, file, context, skipped }) => {
        const folder = context === undefined ? "" : `,"${context.replaceAll('"', '""')}"`;
        return `${docid === undefined ? "" : `${docid},`}${file}${folder}${skipped === undefined ? "" : ",[SKIPPED]"}\n`;
      })
      .join("");
  },

  md(documents) {
    return documents
      .map(({ file, docid, title, context, body = "", skipped }) => {
        const parts = [
          `## ${file}`,
          ...(docid === undefined ? [] : [`**docid:** \`${docid}\``]),
          ...(title === file ? [] : [`**Title:** ${title}`]),
          ...(context === undefined ? [] : [`**Context:** ${context}`]),
          skipped === undefined ? fenced(body) : `> ${skipped}`,
        ];
        return `${parts.join("\n\n")}\n\n`;
      })
      .join("");
  },

  xml(documents) {
    const rows = documents.map(({ file, docid, title, context, body = "", skipped }) => {
      const id = docid === undefined ? "" : ` docid="${xmlAttribute(docid)}"`;
      const lines = [
        `  <document${id}>`,
        `    <file>${xmlText(file)}</file>`,
        `    <title>${xmlText(title)}</title>`,
        ...(context === undefined ? [] : [`    <context>${xmlText(context)}</context>`]),
        ...(skipped === undefined
          ? [`    <body>${xmlText(body)}</body>`]
          : ["    <skipped>true</skipped>", `    <reason>${xmlText(skipped)}</reason>`]),
        "  </document>",
      ];
      return `${lines.join("\n")}\n`;
    });
    return `<?xml version="1.0" encoding="UTF-8"?>\n<documents>\n${rows.join("")}</documents>\n`;
  },

  cli(documents) {
    const rule = "=".repeat(60);
    return documents
      .map(({ file, docid, context, body = "", skipped }) => {
        const name = docid === undefined ? printableName(file) : `${printableName(file)}  ${docid}`;
        const folder =
          context === undefined || skipped !== undefined ? "" : `Folder Context: ${printableText(context)}\n---\n\n`;
        const text = skipped === undefined ? documentShown(body) : printableText(`[SKIPPED: ${skipped}]`);
        return `\n${rule}\nFile: ${name}\n${rule}\n\n${folder}${text}\n`;
      })
      .join("");
  },
};

function jsonRow({ file, docid, title, context, body, skipped }: DocumentPrint): object {
  return {
    file,
    ...(docid === undefined ? {} : { docid }),
    title,
    ...(context === undefined ? {} : { context }),
    ...(skipped === undefined ? { body } : { skipped: true, reason: skipped }),
  };
}

/** A code block whose fence is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/^(?:\d+: )?\s*(`{3,})/gm)].map(([, fence = ""]) => fence.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
