import { describe, expect, test } from "bun:test";
import { array, assert, oneof, property, string, stringMatching } from "fast-check";
import { parseModelUri } from "../../node_modules/node-llama-cpp/dist/utils/parseModelUri.js";
import { DEFAULT_AGENT_MODEL, DEFAULT_QMD_MODELS } from "../../src/embed/spec.ts";
import { belongsToHub, parseModelSource } from "../../src/llama/model-source.ts";

const names = (spec: string): string[] => {
  const source = parseModelSource(spec, {});
  if (source.kind === "file") return [source.path];
  return source.kind === "remote" ? [source.fileName] : source.fileNames;
};

/** What node-llama-cpp calls the same model in its cache, without parts of split files. */
const theirs = (spec: string): string[] => {
  const parsed = parseModelUri(spec);
  if (parsed === null) throw new Error(`${spec} is no URI`);
  if (parsed.type === "resolved") return [parsed.fullFilename];
  return parsed.possibleFullFilenames.filter((name) => !name.includes("{"));
};

describe("names in the cache are node-llama-cpp's", () => {
  test.each([
    DEFAULT_AGENT_MODEL,
    ...Object.values(DEFAULT_QMD_MODELS),
    "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf",
    "hf:nomic-ai/nomic-embed-text-v1.5-GGUF/nomic-embed-text-v1.5.Q8_0.gguf",
    "hf:user/some-repo/other-name.gguf",
    "hf:user/some-repo/folder/other-name.gguf",
    "hf:user/some-repo/other-name/other-name.gguf",
    "hf:user/Name-GGUF/name-q4.gguf#v2",
    "hf:user/Name-GGUF/sub/dir/name-q4.gguf",
    "hf:user/Name-GGUF/big-00001-of-00003.gguf",
    "hf:user/Name-GGUF:Q8_0",
    "hf:user/Name-GGUF:q4_k_m",
    "hf:user/Name-GGUF",
    "hf:user/plain-repo:latest",
    "hf.co/user/Name-GGUF/name.gguf",
  ])("%s", (spec) => {
    expect(names(spec)).toEqual(theirs(spec));
  });

  test("any repository and file", () => {
    const word = stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/).filter((text) => !text.endsWith("."));
    const repo = oneof(
      word,
      word.map((text) => `${text}-GGUF`),
    );
    assert(
      property(word, repo, array(word, { maxLength: 2 }), word, (user, repo, folders, file) => {
        const spec = `hf:${[user, repo, ...folders, `${file}.gguf`].join("/")}`;
        expect(names(spec)).toEqual(theirs(spec));
      }),
    );
  });
});

describe("addresses", () => {
  const url = (spec: string, env = {}) => {
    const source = parseModelSource(spec, env);
    return source.kind === "remote" ? source.url : source.kind === "tag" ? source.manifestUrl : source.path;
  };

  test("the hub's, unless HF_ENDPOINT names a mirror", () => {
    expect(url("hf:a/b/c d.gguf")).toBe("https://huggingface.co/a/b/resolve/main/c%20d.gguf");
    expect(url("hf:a/b/c.gguf#dev", { HF_ENDPOINT: "https://mirror.example/" })).toBe(
      "https://mirror.example/a/b/resolve/dev/c.gguf",
    );
    expect(url("hf:a/b:Q8_0", { HF_ENDPOINT: "http://m" })).toBe("http://m/v2/a/b/manifests/Q8_0");
  });

  test("an address of a file on the hub is that file", () => {
    const spec = "https://huggingface.co/a/b-GGUF/resolve/main/b-q8.gguf?download=true";
    expect(parseModelSource(spec, {})).toEqual(parseModelSource("hf:a/b-GGUF/b-q8.gguf", {}));
  });

  test("two addresses with one last name are two files", () => {
    expect(names("https://a.example/x/model.gguf")).not.toEqual(names("https://a.example/y/model.gguf"));
  });

  test.each(["https://", "https://x.example/%zz.gguf", "file://elsewhere/a.gguf"])("%s names no model", (spec) => {
    expect(() => parseModelSource(spec, {})).toThrow(expect.objectContaining({ code: "MODEL_SPEC" }));
  });

  test("paths", () => {
    expect(url("/models/a.gguf")).toBe("/models/a.gguf");
    expect(url("file:/models/a.gguf")).toBe("/models/a.gguf");
    expect(url("file:///models/a%20b.gguf")).toBe("/models/a b.gguf");
    expect(url("~/a.gguf", { HOME: "/home/me" })).toBe("/home/me/a.gguf");
  });

  test("the hub's key goes to the hub's own origin alone", () => {
    expect(belongsToHub("https://huggingface.co/a")).toBe(true);
    for (const other of [
      "http://huggingface.co/a",
      "https://cdn.huggingface.co/a",
      "https://huggingface.co.example/a",
    ]) {
      expect(belongsToHub(other)).toBe(false);
    }
  });
});

test.each([
  "",
  "hf:",
  "hf:user",
  "hf:../../etc/x.gguf",
  "hf:a/b/../../x.gguf",
  "hf:a/b/c.bin",
  "https://a.example/page.html",
])("%p names no model", (spec) => {
  expect(() => parseModelSource(spec, {})).toThrow(/names no GGUF model/);
});

test("a remote name never leaves its folder", () => {
  assert(
    property(string(), (text) => {
      try {
        for (const prefix of ["hf:", "https://a.example/"]) {
          const source = parseModelSource(`${prefix}${text}.gguf`, {});
          const files = source.kind === "remote" ? [source.fileName] : source.kind === "tag" ? source.fileNames : [];
          for (const name of files) {
            expect(name).not.toMatch(/[/\\\0]/);
            expect(name.startsWith(".")).toBe(false);
          }
        }
      } catch (error) {
        expect(error).toMatchObject({ code: "MODEL_SPEC" });
      }
    }),
  );
});
