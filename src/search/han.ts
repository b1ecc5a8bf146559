import { readFileSync } from "node:fs";
import licence from "./han/licence.txt" with { type: "file" };
import table from "./han/table.txt" with { type: "file" };

/** Path of OpenCC's table, made by scripts/han.ts; the licence goes wherever it goes. */
const FILES = { table, licence };

/** Traditional characters and, in the same order, the simplified ones that are written for them. */
type Table = { traditional: string; simplified: string };

/** Most processes meet no Han characters, and none of them reads it. */
function readTable(): Table {
  const [traditional = "", simplified = ""] = readFileSync(FILES.table, "utf8").split("\n");
  return { traditional, simplified };
}

let pairs: Table | undefined;

/** So many characters are looked up in the table as it stands: a question has fewer, and making a map takes longer than these. */
const ASKED_WITHOUT_MAP = 100;
let asked = 0;
let forms: Map<string, string> | undefined;

/** Han characters in their simplified form, so that `會議` finds `会议` and the other way round; Japanese ones too, where both are in use. */
export function simplifiedHan(text: string): string {
  let folded = "";
  for (const character of text) folded += simplifiedOf(character);
  return folded;
}

function simplifiedOf(character: string): string {
  pairs ??= readTable();
  const { traditional, simplified } = pairs;
  if (asked++ < ASKED_WITHOUT_MAP) {
    const at = traditional.indexOf(character);
    return at < 0 ? character : simplified.charAt(at);
  }
  forms ??= new Map(Array.from(traditional, (from, at) => [from, simplified.charAt(at)]));
  return forms.get(character) ?? character;
}
