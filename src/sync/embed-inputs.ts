import { readFileSync } from "node:fs";
import { isMediaPath } from "../home/media.ts";
import type { EmbedInput } from "../embed/types.ts";
import type { Collection } from "../home/types.ts";
import { mediaLabel, mediaType } from "../notes/media.ts";
import { passageText } from "../notes/passage-text.ts";
import { contentText, documentsById } from "../store/documents.ts";
import type { DocumentRow, MissingVector } from "../store/types.ts";
import { mediaHash } from "./read-document.ts";
import { fileProblem } from "./scan.ts";
import type { CollectionRun } from "./sync-collection.ts";

export type ReadyInput = { row: MissingVector; input: EmbedInput };

export type Inputs = {
  /** What to send for these passages, in groups that fit into memory; those that can't be embedded are left out. */
  groupsOf(rows: readonly MissingVector[]): Generator<ReadyInput[]>;
  warnings(): string[];
};

/** Makes what is embedded of a passage: its text, or the picture or sound that it stands for. */
export function createInputs({ home, index }: CollectionRun, takesMedia: boolean): Inputs {
  const collections = new Map(home.collections.map((collection) => [collection.name, collection]));
  const warnings: string[] = [];
  let text = { hash: "", content: "" };

  const textOf = (row: MissingVector): string => {
    if (text.hash !== row.documentHash)
      text = { hash: row.documentHash, content: contentText(index, row.documentHash) ?? "" };
    return passageText(text.content, row.pos, row.length);
  };

  const mediaInput = (row: MissingVector, document: DocumentRow, collection: Collection): ReadyInput[] => {
    if (!takesMedia) return [];
    const absolute = `${collection.root}/${document.path}`;
    try {
      const data = readFileSync(absolute);
      const mimeType = mediaType(data);
      const path = `${collection.pathPrefix}${document.path}`;
      // What was indexed is no longer there: the next sync sees the change.
      if (mimeType === null || mediaHash(path, mimeType, data) !== document.hash) return [];
      return [{ row, input: { text: mediaLabel(mimeType, path), media: { mimeType, data } } }];
    } catch (error) {
      warnings.push(`${absolute} was not embedded: ${fileProblem(error)}.`);
      return [];
    }
  };

  const textInput = (row: MissingVector, document: DocumentRow): ReadyInput[] => {
    const passage = textOf(row);
    if (passage.trim() === "") return [];
    // In an agent home one vector serves every passage of the same words, so it can't depend on one document's title.
    return [{ row, input: home.kind === "agent" ? { text: passage } : { text: passage, title: document.title } }];
  };

  return {
    warnings: () => warnings,
    *groupsOf(rows) {
      const documents = documentsById(index, [...new Set(rows.map(({ documentId }) => documentId))]);
      const media: (() => ReadyInput[])[] = [];
      const texts: ReadyInput[] = [];
      for (const row of rows) {
        const document = documents.get(row.documentId);
        if (document === undefined) continue;
        const collection = collections.get(document.collection);
        if (collection === undefined || !isMediaPath(document.path, collection.media))
          texts.push(...textInput(row, document));
        else media.push(() => mediaInput(row, document, collection));
      }
      if (texts.length > 0) yield texts;
      // Pictures and sounds are large: one at a time.
      for (const read of media) {
        const ready = read();
        if (ready.length > 0) yield ready;
      }
    },
  };
}
