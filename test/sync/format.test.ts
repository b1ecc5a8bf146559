import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { syncIndex } from "../../src/sync/sync.ts";
import { homeOf, tempFolder, writeNotes } from "./helpers.ts";
import recorded from "../fixtures/index-formats.json" with { type: "json" };

/** What tokens are made of: words, forms, identifiers, dates, addresses, marks, headings, scripts with and without blanks, turns. */
const NOTES = {
  "2026-02-10-router.md": `# Router am Dachboden

Went to the children's shop; bought C++ books (v1.2.3), paid €12.50 on 27 June 2026. See src/search/tokens.ts, getUserById,
HTTP_PROXY, foo-bar_baz, U.S.A., ann@example.org, https://example.org/a/b?c=d, #garden, @ann. Don't, l'été, naïve, straße.`,
  "MEMORY.md": "# Memory\n\n## Router\n- Password: tangerine\n### Guests\n- Network: fjordnet\n",
  "talk.md": `Ann: I painted a sunrise last week.\nBob: You did? My kids love your paintings.\nAnn: They were running with me.`,
  "scripts.md": `东京的天气很好，我们去了上野公园。\n\nこんにちは世界、カタカナ。\n\n안녕하세요 서울에서 만나요.\n\nสวัสดีชาวโลก\n
नमस्ते दुनिया, किताबें पढ़ना.\n\nمرحبا بالعالم، الكتب الجديدة.\n\nПривет, мир: новые книги. Ελληνικά βιβλία.\n
Los niños corrían; les maisons étaient; die Häuser wurden gebaut; as crianças correram.

會議推遲到星期四，机场很远。 りんごとリンゴ、らーめん。 הפגישה עם הלקוחות נדחתה. Зустрічі з бабусі в липні.`,
};

test("tokens that differ from those of older indexes have a format of their own, so that the next sync makes them anew", async () => {
  const root = tempFolder();
  writeNotes(root, NOTES);
  const home = homeOf(root);
  await syncIndex(home, { embed: false });
  const db = new Database(home.indexPath, { readonly: true });
  const values = db.query("SELECT value FROM memq_meta").values().map(String);
  const format = /"cut":"(\d+):/.exec(values.join("\n"))?.[1] ?? "";
  const rows = db.query("SELECT c0, c1 FROM memq_fts_content ORDER BY c0").values();
  db.close();
  const tokens = new Bun.CryptoHasher("sha256").update(JSON.stringify(rows)).digest("hex");
  // Where the tokens changed: raise INDEX_FORMAT, then record the new ones under the new number.
  expect({ [format]: tokens }).toEqual(recorded);
});
