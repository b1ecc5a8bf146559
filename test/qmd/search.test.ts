import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { collectionsYaml, qmdHome, type QmdTestHome } from "./homes.ts";

let home: QmdTestHome;

const alpha =
  '# Alpha note\n\nfirst line about router\nsecond line\nthird vlan router line\nfourth\nfifth "quoted", x\n';

beforeAll(async () => {
  home = await qmdHome(
    {
      "notes/a.md": alpha,
      "notes/sub/b c.md": "no heading here\nrouter of beta & <b>\n",
      "other/c.md": "# C\nhedgehog\n",
    },
    {
      yaml: collectionsYaml(["notes", "other"], "global_context: Global\n").replace(
        '/notes"',
        `/notes"\n    context:\n      sub: 'Sub "ctx", here'`,
      ),
    },
  );
});
afterAll(() => home.remove());

describe("search", () => {
  test("JSON rows have qmd's keys in qmd's order, then ours", async () => {
    const [row, second] = await home.json("search", "router", "--json");
    expect(Object.keys(row ?? {})).toEqual(
      "docid score file line title context snippet collection path start_line end_line".split(" "),
    );
    expect(row).toMatchObject({
      docid: "#9cd1f3",
      file: "qmd://notes/a.md",
      line: 3,
      title: "Alpha note",
      context: "Global",
      snippet: "@@ -2,4 @@ (1 before, 3 after)\n\nfirst line about router\nsecond line\nthird vlan router line",
      collection: "notes",
      path: "a.md",
      start_line: 2,
      end_line: 5,
    });
    expect(second).toMatchObject({ file: "qmd://notes/sub/b c.md", context: 'Global\n\nSub "ctx", here' });
    for (const { score } of [row, second] as { score: number }[]) expect(score).toBe(Math.round(score * 100) / 100);
  });

  test("each format prints the same row in its own way", async () => {
    const ask = async (format: string, ...more: string[]): Promise<string> =>
      (await home.run("search", "vlan", "--format", format, ...more)).stdout.replace(/0\.\d{2,4}|\d+%/g, "S");
    const snippet = '@@ -4,4 @@ (3 before, 1 after)\nsecond line\nthird vlan router line\nfourth\nfifth "quoted", x';
    expect(await ask("cli")).toBe(
      `qmd://notes/a.md:5 #9cd1f3\nTitle: Alpha note\nContext: Global\nScore:  S\n\n${snippet}\n`,
    );
    expect(await ask("csv")).toBe(
      `docid,score,file,title,context,line,snippet\n#9cd1f3,S,qmd://notes/a.md,Alpha note,Global,5,"${snippet.replaceAll('"', '""')}"\n`,
    );
    expect(await ask("md")).toBe(
      `---\n# Alpha note\n**file:** \`qmd://notes/a.md\`\n**docid:** \`#9cd1f3\`\n**context:** Global\n\n${snippet}\n\n`,
    );
    expect(await ask("files")).toBe('#9cd1f3,S,qmd://notes/a.md,"Global"\n');
    expect(await ask("xml")).toBe(
      `<results>\n<file docid="#9cd1f3" name="qmd://notes/a.md" title="Alpha note" context="Global">\n${snippet.replaceAll('"', "&quot;")}\n</file>\n</results>\n`,
    );
    expect(await ask("files", "--full-path")).toBe('S,./notes/a.md,"Global"\n');
  });

  test("two letters find the words that begin with them", async () => {
    expect(await home.json("search", "vl", "--json")).toMatchObject([{ file: "qmd://notes/a.md", line: 5 }]);
  });

  test("a number may be written with an exponent", async () => {
    for (const [least, found] of [
      ["1e-3", 2],
      ["9.99E-1", 0],
    ] as const)
      expect(await home.json("search", "router", "--json", "--min-score", least)).toHaveLength(found);
    for (const wrong of ["1e", "e3", "1e3", "0x1"])
      expect(await home.run("search", "router", "--min-score", wrong)).toMatchObject({ exitCode: 2, stdout: "" });
  });

  test("a context without a text is none", async () => {
    const yaml = 'collections:\n  n:\n    path: "$ROOT/n"\n    context:\n      "": \n      sub: ""\n';
    const own = await qmdHome({ "n/sub/a.md": "heron\n" }, { yaml });
    expect((await own.run("search", "heron", "--files")).stdout).toMatch(/^#\w{6},[\d.]+,qmd:\/\/n\/sub\/a\.md\n$/);
    expect((await own.json("search", "heron", "--json"))[0]).not.toHaveProperty("context");
    expect((await own.run("get", "sub/a.md")).stdout).not.toContain("Context");
    own.remove();
  });

  test("an empty answer has qmd's form in each format, and exit code 0", async () => {
    const empty = { cli: "No results found.\n", json: "[]\n", md: "", files: "", xml: "<results></results>\n" };
    for (const [format, stdout] of Object.entries(empty))
      expect(await home.run("search", "zebra", "--format", format)).toEqual({ stdout, stderr: "", exitCode: 0 });
    expect((await home.run("search", "zebra", "--csv")).stdout).toBe("docid,score,file,title,context,line,snippet\n");
    expect((await home.run("search", "router", "--min-score", "0.99")).stdout).toBe(
      "No results found above minimum score threshold.\n",
    );
  });

  test("mistakes are one sentence with qmd's words and exit codes", async () => {
    expect(await home.run("search")).toEqual({
      stdout: "",
      stderr: "Usage: memq search [options] <query>\n",
      exitCode: 1,
    });
    const unknown = await home.run("search", "x", "-c", "nope");
    expect(unknown).toMatchObject({ stdout: "", exitCode: 1 });
    expect(unknown.stderr).toStartWith("Collection not found: nope\n");
    expect(await home.run("search", "x", "--format", "toml")).toMatchObject({
      stderr: "Unknown --format value: toml\nValid: cli, json, csv, md, xml, files\n",
      exitCode: 1,
    });
    expect(await home.run("search", "x", "-n", "0")).toMatchObject({ exitCode: 2 });
  });

  test("a file of two collections is shown once, under the first of them, whichever path answers better", async () => {
    const shared = await qmdHome(
      { "all/work/hedgehog.md": "# Visit\nThe hedgehog came again.\n" },
      {
        yaml: 'collections:\n  inner:\n    path: "$ROOT/all/work"\n  hedgehogs:\n    path: "$ROOT/all"\n',
      },
    );
    try {
      for (const words of ["hedgehog", "work hedgehog"]) {
        const rows = await shared.json("search", words, "--json");
        expect(rows.map(({ collection, path }) => [collection, path])).toEqual([["inner", "hedgehog.md"]]);
      }
    } finally {
      shared.remove();
    }
  });

  test("the beginning of a word finds it and shows its line, as with qmd", async () => {
    expect(await home.json("search", "hedgeh", "--json")).toMatchObject([{ path: "c.md", line: 2 }]);
    expect(await home.json("query", "hedgeh", "--json")).toMatchObject([{ path: "c.md", line: 2 }]);
    expect(await home.json("search", "rout hedgeh", "--json")).toHaveLength(3);
  });

  test("a collection that is not named is not searched", async () => {
    expect(await home.json("search", "hedgehog", "--json", "-c", "notes")).toEqual([]);
    expect(await home.json("search", "hedgehog", "--json", "-c", "notes", "-c", "other")).toHaveLength(1);
  });
});
