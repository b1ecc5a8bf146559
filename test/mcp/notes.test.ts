import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deleteCollectionDocuments } from "../../src/store/collections.ts";
import { documentCounts } from "../../src/store/documents.ts";
import { withWriterLock } from "../../src/store/lock.ts";
import { readRenaming } from "../../src/store/meta.ts";
import { openIndex } from "../../src/store/open.ts";
import { renameInIndex } from "../../src/sync/rename-collection.ts";
import { qmdHome, type QmdTestHome } from "../qmd/homes.ts";
import { connectStdio, type ForeignClient, type Generation, GENERATIONS, type ToolResult } from "./clients.ts";

const NOTES = {
  "docs/travel.md": "# Travel\n\nFlights are booked by Marta.\nShe approves every trip.\n",
  "docs/My Notes/baz qux (2).md": "# Odd name\n\nThe quokka census is in here.\n",
  "docs/100%.md": "# Percent\n\nA quokka at a hundred percent.\n",
  "journal/2026-05-01.md": "# May\n\nA quokka crossed the road.\n",
  "journal/2026-05-02.md": "# Second of May\n\nNothing but rain.\n",
};
const YAML = `global_context: Notes of a small team
collections:
  docs:
    path: $ROOT/docs
    context:
      /: How we work
  journal:
    path: $ROOT/journal
    ignore: ["private.md"]
`;

let home: QmdTestHome;
beforeAll(async () => {
  home = await qmdHome({ ...NOTES, "journal/private.md": "# Private\n" }, { yaml: YAML });
});
const open: ForeignClient[] = [];
afterAll(async () => {
  await Promise.all(open.map((client) => client.close()));
  home.remove();
});

async function session(generation: Generation, args: string[] = [], at = home): Promise<ForeignClient> {
  const client = await connectStdio(generation, args, { env: at.env, cwd: at.root });
  open.push(client);
  return client;
}

function textOf({ content }: ToolResult): string {
  return content.map(({ text, resource }) => text ?? resource?.text ?? "").join("\n");
}

describe.each(GENERATIONS)("the notes of a home, asked by the official client (%s)", (generation) => {
  let client: ForeignClient;
  beforeAll(async () => {
    client = await session(generation);
  });

  test("answer soon to a name that asks for an index a hundred thousand times", async () => {
    const file = `qmd:${"?index=a".repeat(100_000)}&`;
    expect(await client.callTool({ name: "get", arguments: { file } })).toMatchObject({ isError: true });
  });

  test("were answered to nobody while a question with a long run of blanks was put on one line", async () => {
    const query = `flights${" ".repeat(300_000)}approves`;
    const plain = await client.callTool({ name: "query", arguments: { query } });
    expect(plain.structuredContent.results[0].file).toBe("docs/travel.md");
    const typed = await client.callTool({ name: "query", arguments: { searches: [{ type: "lex", query }] } });
    expect(typed.structuredContent.results[0].file).toBe("docs/travel.md");
  });

  test("are introduced by what there is", async () => {
    const words = client.getInstructions() ?? "";
    expect(words).toContain("5 Markdown documents");
    expect(words.indexOf("5 Markdown")).toBeLessThan(words.indexOf("Context: Notes of a small team"));
    expect(words.indexOf("Context:")).toBeLessThan(words.indexOf("Collections: "));
    expect(words).toContain("memq embed");
    expect(words).toContain("intent");
    expect(words).toContain("minScore");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["query", "get", "multi_get", "status"]);
    expect(
      tools.every(({ annotations }) => JSON.stringify(annotations) === '{"readOnlyHint":true,"openWorldHint":false}'),
    ).toBe(true);
    expect((await client.listResources()).resources).toEqual([]);
    expect((await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "qmd://{+path}",
    ]);
  });

  test("are found, with the document's own line numbers", async () => {
    const found = await client.callTool({ name: "query", arguments: { query: "who approves trips?" } });
    const [row] = found.structuredContent.results;
    expect(row).toMatchObject({ file: "docs/travel.md", title: "Travel", line: 4 });
    expect(row).toMatchObject({ collection: "docs", path: "travel.md", start_line: 3, end_line: 5 });
    expect(row.context).toBe("Notes of a small team\n\nHow we work");
    const [header, ...lines] = row.snippet.split("\n");
    expect(header).toMatch(/^@@ -3,/);
    expect(lines).toContain("4: She approves every trip.");
    expect(textOf(found)).toStartWith(`Found 1 result for "who approves trips?":\n\n${row.docid} `);
    const none = await client.callTool({ name: "query", arguments: { query: "zzzzqq" } });
    expect(textOf(none)).toStartWith('No results found for "zzzzqq"');
  });

  test("pain 3: open with get by every name that a tool printed, and with the address of a resource", async () => {
    const found = await client.callTool({ name: "query", arguments: { query: "quokka" } });
    const rows = found.structuredContent.results;
    expect(rows).toHaveLength(3);
    for (const { file, docid } of rows) {
      for (const name of [file, docid]) {
        const read = await client.callTool({ name: "get", arguments: { file: name, lineNumbers: false } });
        const [{ resource } = {}] = read.content;
        expect(resource?.text).toEndWith(readFileSync(join(home.root, file), "utf8"));
        const again = await client.callTool({ name: "get", arguments: { file: resource?.uri } });
        expect(again.isError).toBeUndefined();
        const { contents } = await client.readResource({ uri: resource?.uri ?? "" });
        expect(contents[0]?.text).toContain("quokka");
      }
    }
    const all = await client.callTool({
      name: "multi_get",
      arguments: { pattern: rows.map((row: { file: string }) => row.file).join(",") },
    });
    expect(all.content).toHaveLength(3);
  });

  test("are read from a line on", async () => {
    const read = await client.callTool({
      name: "get",
      arguments: { file: "docs/travel.md", fromLine: 3, maxLines: 1 },
    });
    expect(read.content[0]?.resource).toMatchObject({ uri: "qmd://docs/travel.md", mimeType: "text/markdown" });
    expect(textOf(read)).toBe(
      "<!-- Context: Notes of a small team\n\nHow we work -->\n\n3: Flights are booked by Marta.",
    );
    expect(textOf(await client.callTool({ name: "get", arguments: { file: "docs/travel.md:4" } }))).toEndWith(
      "-->\n\n4: She approves every trip.\n5: ",
    );
  });

  test("are several by a glob, with what is none named first", async () => {
    const may = await client.callTool({ name: "multi_get", arguments: { pattern: "journal/2026-05-*.md" } });
    expect(may.content.map(({ resource }) => resource?.uri)).toEqual([
      "qmd://journal/2026-05-01.md",
      "qmd://journal/2026-05-02.md",
    ]);
    const mixed = await client.callTool({ name: "multi_get", arguments: { pattern: "docs/travel.md, nowhere.md" } });
    expect(mixed.content[0]?.text).toStartWith("Errors:\nFile not found: nowhere.md");
    const large = await client.callTool({ name: "multi_get", arguments: { pattern: "docs/travel.md", maxBytes: 9 } });
    expect(textOf(large)).toContain("[SKIPPED: docs/travel.md - File too large (0KB > 0KB). Use 'get'");
  });

  test("that are not there are named with what is like them, or the rule that keeps them out", async () => {
    const near = await client.callTool({ name: "get", arguments: { file: "docs/travle.md" } });
    expect(near.isError).toBe(true);
    expect(textOf(near)).toBe("Document not found: docs/travle.md\n\nDid you mean one of these?\n  - travel.md");
    const ignored = await client.callTool({ name: "get", arguments: { file: "journal/private.md" } });
    expect(textOf(ignored)).toContain("Document excluded by ignore rule: journal/private.md\nCollection: journal");
    const uri = "qmd://docs/none.md";
    const read = await client.readResource({ uri }).catch((error: Error) => error.message);
    if (generation === "legacy")
      expect(read).toEqual({ contents: [{ uri, text: "Document not found: docs/none.md" }] });
    else expect(read).toContain("Document not found: docs/none.md");
  });

  test("are asked wrongly: the model is told how to do better", async () => {
    const ask = async (args: Record<string, unknown>): Promise<string> => {
      const answer = await client.callTool({ name: "query", arguments: args });
      expect(answer.isError).toBe(true);
      return textOf(answer);
    };
    expect(await ask({})).toBe("Error: provide either 'query' (plain text) or 'searches' (typed sub-queries)");
    expect(await ask({ query: "a", searches: [{ type: "lex", query: "a" }] })).toContain("mutually exclusive");
    expect(await ask({ query: "", searches: [] })).toStartWith("Error: provide either 'query'");
    expect(await ask({ query: 7 })).toBe(
      "Input validation error: Invalid arguments for tool query: query must be a string",
    );
    expect(await ask({ searches: [{ type: "lex", query: 'a "b' }] })).toStartWith("Structured search (lex):");
    expect(await ask({ query: "a", collections: ["nope"] })).toContain("Collection not found: nope");
  });

  test("are all asked when the list of collections is empty, as by agents that fill in every parameter", async () => {
    const all = await client.callTool({ name: "query", arguments: { query: "quokka", collections: [] } });
    expect(all.structuredContent.results).toHaveLength(3);
  });

  test("were refused when the other way of asking was left empty, as by agents that fill in every parameter", async () => {
    for (const arguments_ of [
      { query: "quokka", searches: [] },
      { query: "", searches: [{ type: "lex", query: "quokka" }] },
    ]) {
      const found = await client.callTool({ name: "query", arguments: arguments_ });
      expect(found.isError).not.toBe(true);
      expect(found.structuredContent.results).toHaveLength(3);
    }
  });

  test("are read by whole lines, whatever number was given", async () => {
    const window = { file: "docs/travel.md", fromLine: 3.7, maxLines: 1.2 };
    expect(textOf(await client.callTool({ name: "get", arguments: window }))).toEndWith(
      "3: Flights are booked by Marta.",
    );
  });

  test("failed in the words of the index when a number was beyond any count", async () => {
    for (const [name, parameter] of [
      ["query", "limit"],
      ["query", "candidateLimit"],
      ["search", "limit"],
      ["deep_search", "limit"],
    ] as const) {
      const refused = await client.callTool({ name, arguments: { query: "quokka", [parameter]: 1e300 } });
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain(`${parameter} must be at most 10000`);
      const most = await client.callTool({ name, arguments: { query: "quokka", [parameter]: 9999.5 } });
      expect(most.structuredContent.results).toHaveLength(3);
    }
  });

  test("had a line numbered that they do not have", async () => {
    const window = { file: "docs/travel.md", fromLine: 1e300, maxLines: 1e300 };
    const { content } = await client.callTool({ name: "get", arguments: window });
    expect(content.map(({ resource, text }) => resource?.text.split("\n\n").at(-1) ?? text)).toEqual([
      "",
      "The document has 5 lines.",
    ]);
  });

  test("are counted by status", async () => {
    const status = await client.callTool({ name: "status" });
    expect(status.structuredContent).toMatchObject({ totalDocuments: 5, needsEmbedding: 5, hasVectorIndex: false });
    expect(textOf(status)).toStartWith("QMD Index Status:\n  Total documents: 5\n");
  });

  test("were asked by meaning in vain, without a word of it, when nothing was embedded", async () => {
    const asked = [
      { name: "vector_search", arguments: { query: "quokka" } },
      { name: "query", arguments: { searches: [{ type: "vec", query: "quokka" }] } },
    ];
    for (const call of asked) {
      const answer = await client.callTool(call);
      expect(answer.structuredContent).toMatchObject({ results: [], warning: expect.stringContaining("memq embed") });
      expect(textOf(answer)).toContain("Nothing is embedded yet");
    }
    const { structuredContent } = await client.callTool({ name: "query", arguments: { query: "quokka" } });
    expect(structuredContent.warning).toBeUndefined();
  });

  test("answer the names that older gateways call, which are not listed", async () => {
    const older = { query: "quokka", limit: 1, collection: "journal" };
    for (const name of ["search", "deep_search"]) {
      const { structuredContent } = await client.callTool({ name, arguments: older });
      expect(structuredContent.results.map(({ file }: { file: string }) => file)).toEqual(["journal/2026-05-01.md"]);
    }
    expect((await client.callTool({ name: "vector_search", arguments: older })).structuredContent.results).toEqual([]);
  });
});

test("pain 44: a search is confined by --collection, and the index is the one that --index names", async () => {
  const confined = await session("legacy", ["-c", "journal"]);
  const found = await confined.callTool({ name: "query", arguments: { query: "quokka" } });
  expect(found.structuredContent.results.map(({ file }: { file: string }) => file)).toEqual(["journal/2026-05-01.md"]);
  const other = await session("legacy", ["--index", "other"]);
  const status = await other.callTool({ name: "status" });
  expect(status.structuredContent.totalDocuments).toBe(0);
  const none = await other.callTool({ name: "query", arguments: { query: "quokka" } });
  const advice = "There is no collection yet: `memq collection add FOLDER` makes one.";
  expect(none.structuredContent).toEqual({ results: [], warning: advice });
  expect(existsSync(join(home.indexPath, "../other.sqlite"))).toBe(false);
});

test.each([
  [["--agent", "main", "--index", "x"], "--agent means the memory of an agent"],
  [["--allow-write"], "--allow-write is for the memory of an agent"],
  [["stpo"], "unknown command 'mcp stpo'"],
  [["--nope"], "unknown option '--nope'"],
  [["--max-results", "3"], "unknown option '--max-results'"],
])("%j is a mistake in how the command was called", async (args, sentence) => {
  const outcome = await home.run("mcp", ...args);
  expect(outcome).toMatchObject({ exitCode: 2, stdout: "", stderr: expect.stringContaining(sentence) });
});

describe("a list of names without end", () => {
  test("was looked up for minutes, whether or not anybody waited", async () => {
    const client = await session("modern");
    const pattern = "travel.md,".repeat(100_000);
    const refused = await client.callTool({ name: "multi_get", arguments: { pattern } });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain("The list has 100001 names; at most 10000 are looked up at once.");
  });

  test("of one document made an answer that ended the session", async () => {
    const own = await qmdHome({ "m/long.md": `# Long\n\n${"A heron. ".repeat(6000)}` });
    const client = await session("legacy", [], own);
    const pattern = "m/long.md,".repeat(900);
    const { content } = await client.callTool({ name: "multi_get", arguments: { pattern } });
    const skipped = content.filter(({ text }) => text?.includes("SKIPPED: m/long.md - The answer is full."));
    expect(content).toHaveLength(900);
    expect(skipped.length).toBeGreaterThan(700);
  });
});

test("of many short documents their addresses made an answer that ended the session", async () => {
  const folder = Array.from({ length: 8 }, () => "é".repeat(100)).join("/");
  const own = await qmdHome({ [`m/${folder}/short.md`]: "short\n", "m/other.md": "other\n" });
  const client = await session("legacy", [], own);
  const [, docid] = /#([0-9a-f]{6})/.exec((await own.run("search", "short")).stdout) ?? [];
  const { content } = await client.callTool({ name: "multi_get", arguments: { pattern: `#${docid},`.repeat(2999) } });
  expect(content.filter(({ type }) => type === "resource").length).toBeGreaterThan(1000);
  const [, left] = /^\[SKIPPED: (\d+) more - The answer is full/.exec(content.at(-1)?.text ?? "") ?? [];
  expect(content.length - 1 + Number(left)).toBe(2999);
});

test("a document that no answer holds made those behind it seem too many", async () => {
  const own = await qmdHome({ "m/huge.md": "short\n", "m/small.md": "small\n" });
  own.write({ "m/huge.md": `${"A heron stood. ".repeat(600_000)}\n` });
  const client = await session("legacy", [], own);
  const { content } = await client.callTool({ name: "multi_get", arguments: { pattern: "m/*.md", maxBytes: 2 ** 30 } });
  expect(content.map(({ text, resource }) => text ?? resource?.text)).toEqual([
    expect.stringContaining("SKIPPED: m/huge.md - Too large for one answer."),
    "1: small\n2: ",
  ]);
});

test("results that are many or long made an answer that ended the session", async () => {
  const notes = Array.from({ length: 30 }, (_, nth) => [`m/${nth}.md`, `# heron ${nth}\n`]);
  const yaml = `collections:\n  m:\n    path: $ROOT/m\n    pattern: "**/*.md"\n    context:\n      /: "${"long ".repeat(100_000)}"\n`;
  const client = await session("legacy", [], await qmdHome(Object.fromEntries(notes), { yaml }));
  const found = await client.callTool({ name: "search", arguments: { query: "heron", limit: 30 } });
  const count = found.structuredContent.results.length;
  expect(count).toBeGreaterThan(5);
  expect(count).toBeLessThan(30);
  expect(found.structuredContent.warning).toBe(`Only the first ${count} of 30 results fit into one answer.`);
});

test("a document of more than a message holds ended the session", async () => {
  const line = "A heron stood on one leg, and nobody knew why. ".repeat(100);
  const own = await qmdHome({ "m/long.md": "short\n", "m/wide.md": "short\n" });
  // Documents are read as their files are now, and making an index of so much takes seconds.
  own.write({
    "m/long.md": Array.from({ length: 4000 }, () => line).join("\n"),
    "m/wide.md": `${line.repeat(4000)}\nThe end.`,
  });
  const client = await session("legacy", [], own);
  const read = async (args: object) => {
    const { content } = await client.callTool({ name: "get", arguments: { ...args } });
    return { text: content[0]?.resource?.text ?? "", said: content[1]?.text };
  };
  const first = await read({ file: "m/long.md" });
  const next = Number(/go on with fromLine (\d+)\.$/.exec(first.said ?? "")?.[1]);
  expect(first.text).toEndWith(`\n${next - 1}: ${line}`);
  const rest = [];
  for (let fromLine: number | null = next; fromLine !== null;) {
    const part: { text: string; said: string | undefined } = await read({ file: "m/long.md", fromLine });
    rest.push(part.text);
    fromLine = part.said === undefined ? null : Number(/(\d+)\.$/.exec(part.said)?.[1]);
  }
  expect([first.text, ...rest].join("\n").split("\n")).toHaveLength(4000);
  const wide = await read({ file: "m/wide.md" });
  expect(wide.said).toBe("Line 1 is cut off: it is too long; go on with fromLine 2.");
  expect(wide.text.length).toBeGreaterThan(1_000_000);
  expect(await read({ file: "m/wide.md", fromLine: 2 })).toEqual({ text: "2: The end.", said: undefined });
  const refused = client.readResource({ uri: "qmd://m/long.md" }).catch((error: unknown) => String(error));
  expect(await refused).toContain("m/long.md is too large for one message.");
});

test("a file that changed or went is not served as it was, and the index follows", async () => {
  const own = await qmdHome({ "n/a.md": "# A\n\nThe heron stands.\n", "n/b.md": "# B\n\nThe heron flies.\n" });
  const client = await session("modern", [], own);
  writeFileSync(join(own.root, "n/a.md"), "# A\n\nThe heron and the newcomer.\n");
  rmSync(join(own.root, "n/b.md"));
  const found = await client.callTool({ name: "query", arguments: { query: "heron" } });
  expect(found.structuredContent.results.map(({ file }: { file: string }) => file)).toEqual(["n/a.md"]);
  expect(found.structuredContent.results[0].snippet).toContain("newcomer");
  for (;;) {
    const status = await client.callTool({ name: "status" });
    if (status.structuredContent.totalDocuments === 1) break;
  }
});

test.each([
  ["emptied where it is", (path: string) => truncateSync(path)],
  ["replaced by an empty file", (path: string) => [rmSync(path), writeFileSync(path, "")]],
  ["overwritten by something else", (path: string) => writeFileSync(path, "something else")],
])("an index that was %s under a living server was never made again", async (_, harm) => {
  const own = await qmdHome({ "n/a.md": "# A\n\nThe heron stands.\n" });
  const client = await session("modern", [], own);
  const ask = async () => client.callTool({ name: "query", arguments: { query: "heron" } });
  const count = ({ structuredContent }: ToolResult) => structuredContent.results.length;
  expect(count(await ask())).toBe(1);
  harm(own.indexPath);
  for (let found = await ask(); count(found) === 0; found = await ask()) {
    expect(found.structuredContent.warning).not.toBeEmpty();
  }
});

test("a configuration that can't be read is told to whoever asks, and read again when it is mended", async () => {
  const own = await qmdHome({ "n/a.md": "# A\n\nA heron.\n" });
  own.configure("collections: [\n");
  const client = await session("modern", [], own);
  expect(client.getInstructions()).toContain("The notes can't be opened");
  const failed = await client.callTool({ name: "query", arguments: { query: "heron" } });
  expect([failed.isError, textOf(failed)]).toEqual([true, expect.stringContaining("index.yml")]);
  own.configure("collections:\n  n:\n    path: $ROOT/n\n");
  const found = await client.callTool({ name: "query", arguments: { query: "heron" } });
  expect(found.structuredContent.results).toHaveLength(1);
});

test("many questions at once, while the configuration changes, are all answered", async () => {
  const own = await qmdHome({ "n/a.md": "# A\n\nA heron.\n" });
  const client = await session("legacy", [], own);
  const asked = Array.from({ length: 40 }, async (_, at) => {
    own.configure(`# ${at}\ncollections:\n  n:\n    path: $ROOT/n\n`);
    await Bun.sleep(at);
    return client.callTool({ name: "query", arguments: { query: "heron" } });
  });
  for (const found of await Promise.all(asked)) expect(found.structuredContent?.results).toHaveLength(1);
});

test("a collection that is added while the server runs is there", async () => {
  const own = await qmdHome(
    { "n/a.md": "# A\n", "m/b.md": "# B\n\nAn otter.\n" },
    { yaml: "collections:\n  n:\n    path: $ROOT/n\n" },
  );
  const client = await session("legacy", [], own);
  await client.callTool({ name: "status" });
  const added = await own.run("collection", "add", "m", "--name", "m");
  expect(added.exitCode).toBe(0);
  const found = await client.callTool({ name: "query", arguments: { query: "otter", collections: ["m"] } });
  expect(found.structuredContent.results).toHaveLength(1);
});

test("a collection that was removed while the server waited to write came back", async () => {
  const own = await qmdHome({ "m/b.md": "# B\n\nA heron.\n", "n/a.md": "# A\n\nA heron.\n" });
  const client = await session("modern", [], own);
  await withWriterLock(own.indexPath, async () => {
    own.write({ "n/a.md": "# A\n\nThe heron left.\n", "n/new.md": "# New\n" });
    // Sees that the index is behind, and waits for the lock.
    await client.callTool({ name: "query", arguments: { query: "heron" } });
    own.configure("collections:\n  n:\n    path: $ROOT/n\n");
    const index = openIndex(own.indexPath, { mode: "write" });
    deleteCollectionDocuments(index, "m");
    index.close();
  });
  const counts = () => {
    const index = openIndex(own.indexPath, { mode: "read" });
    const found = documentCounts(index).map(({ collection, count }) => `${collection}: ${count}`);
    index.close();
    return found;
  };
  // It is synced after `m`.
  while (!counts().includes("n: 2")) await Bun.sleep(5);
  expect(counts()).toEqual(["n: 2"]);
});

test("a rename that was killed counted every document twice once a server had synced", async () => {
  const own = await qmdHome({ "m/b.md": "# B\n\nA heron.\n" });
  const index = openIndex(own.indexPath, { mode: "write" });
  renameInIndex(index, "m", "n");
  index.close();
  const client = await session("modern", [], own);
  const found = async () => {
    const { structuredContent } = await client.callTool({ name: "query", arguments: { query: "heron" } });
    return structuredContent.results.map(({ file }: { file: string }) => file);
  };
  expect(await found()).toEqual([]);
  while ((await found()).length === 0) await Bun.sleep(5);
  expect(await found()).toEqual(["m/b.md"]);
  const after = openIndex(own.indexPath, { mode: "read" });
  expect([readRenaming(after), documentCounts(after)]).toEqual([
    null,
    [expect.objectContaining({ collection: "m", count: 1 })],
  ]);
  after.close();
});

test("a project's configuration that is not trusted leads nowhere else, over MCP too", async () => {
  const own = await qmdHome({ "in/a.md": "# A\n\nA lynx.\n", "out/b.md": "# B\n\nA lynx.\n" });
  const folder = join(own.root, "in");
  await Bun.write(join(folder, ".qmd/index.yml"), "collections:\n  in:\n    path: .\n  out:\n    path: ../out\n");
  const heard: string[] = [];
  const client = await connectStdio("legacy", [], { env: own.env, cwd: folder, onStderr: (text) => heard.push(text) });
  open.push(client);
  for (;;) {
    const found = await client.callTool({ name: "query", arguments: { query: "lynx" } });
    const files = found.structuredContent.results.map(({ file }: { file: string }) => file);
    expect(files).not.toContain("out/b.md");
    if (files.includes("in/a.md")) break;
  }
  expect(heard.join("")).toContain("Skipping collection 'out'");
});

test("pain 32: what a project's configuration may not reach is neither counted nor named", async () => {
  const own = await qmdHome({ "out/secret.md": "# Hidden\n\nheron\n", "project/docs/a.md": "# A\n\nheron\n" });
  const project = join(own.root, "project");
  own.write({ "project/.qmd/index.yml": "collections:\n  docs:\n    path: docs\n  outside:\n    path: ../out\n" });
  const env = { ...own.env, PWD: project };
  const run = async (...args: string[]): Promise<void> => {
    await Bun.spawn(own.command(...args), { cwd: project, env: { ...process.env, ...env }, stderr: "ignore" }).exited;
  };
  await run("trust");
  await run("update");
  await run("trust", "revoke");
  const client = await connectStdio("legacy", [], { env, cwd: project });
  open.push(client);
  expect(client.getInstructions()).toContain("1 Markdown documents");
  expect(client.getInstructions()).not.toContain("outside");
  const { structuredContent } = await client.callTool({ name: "status" });
  expect(structuredContent).toMatchObject({ totalDocuments: 1, needsEmbedding: 1, collections: [{ name: "docs" }] });
  own.remove();
});
