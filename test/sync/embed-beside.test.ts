import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { reportDamage } from "../../src/store/damage.ts";
import { documentCounts } from "../../src/store/documents.ts";
import { withWriterLock } from "../../src/store/lock.ts";
import { openIndex } from "../../src/store/open.ts";
import { embedIndex } from "../../src/sync/embed-index.ts";
import { syncIndex, syncLockedIndex } from "../../src/sync/sync.ts";
import { homeOf, tempFolder, writeNotes } from "./helpers.ts";

const NEVER = new AbortController().signal;

test.each([
  ["embed", embedIndex],
  ["an agent's sync", syncIndex],
] as const)(
  "what only embeds (%s) set a damaged index aside while another process was writing to it",
  async (_, embed) => {
    const root = tempFolder();
    writeNotes(root, { "a.md": "# A\n" });
    const home = homeOf(root);
    const { indexPath } = home;
    await syncIndex(home);
    const asideNow = (): number => readdirSync(dirname(indexPath)).filter((name) => /damaged-[^-]*$/.test(name)).length;
    let embedding: Promise<unknown> = Promise.resolve();
    await withWriterLock(indexPath, async () => {
      const writer = openIndex(indexPath, { mode: "write" });
      reportDamage(indexPath);
      embedding = embed(home, { collections: [], signal: NEVER });
      while (!existsSync(`${indexPath}.embed.lock`)) await Bun.sleep(1);
      // Nothing that it would do by itself takes more rounds than these.
      for (let round = 0; round < 20; round++) await new Promise((resolve) => void setImmediate(resolve));
      expect(asideNow()).toBe(0);
      writer.close();
      await syncLockedIndex(home, {});
    });
    await embedding;
    expect(asideNow()).toBe(1);
    const index = openIndex(indexPath, { mode: "read" });
    expect([index.state, documentCounts(index)]).toMatchObject(["ready", [{ collection: "memory", count: 1 }]]);
    index.close();
  },
);
