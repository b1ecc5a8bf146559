import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { MemqError, messageOf } from "../../errors.ts";
import { envText, userHome } from "../../home/paths.ts";
import ownSkill from "../skills/qmd/SKILL.md" with { type: "text" };
import type { Invocation } from "../parse.ts";
import { writeOut } from "../../output.ts";
import type { Program } from "../../version.ts";
import { flag } from "../parse.ts";
import { qmdHomeOf, shellFolder } from "../qmd/home.ts";
import { doctorHint } from "../qmd/words.ts";

/** A text that teaches an agent to use these commands. `path` is null for the one that is built in. */
type Skill = { name: string; description: string; text: string; path: string | null };

/** `skill [show|install|help]`. */
export async function skill(invocation: Invocation): Promise<void> {
  const { words, program } = invocation;
  const [action] = words;
  if (action === "show") return writeOut(found("qmd", program).text);
  if (action === "install") return install(invocation);
  if (action !== undefined && action !== "help") throw unknown(action, "show, install, help", program);
  writeOut(
    [
      `Usage: ${program} skill <show|install>`,
      "",
      "Commands:",
      "  show                                  Print the skill that teaches an agent to search notes",
      "  install [--global] [--yes] [--force]  Put it where agents look for skills",
      "",
    ].join("\n"),
  );
}

/** `skills [list|get NAME|path NAME|help]`; with --json a failure is JSON, too, as with qmd. */
export async function skills(invocation: Invocation): Promise<number> {
  try {
    await runSkills(invocation);
    return 0;
  } catch (error) {
    if (!flag(invocation, "json")) throw error;
    writeOut(`${JSON.stringify({ success: false, error: messageOf(error) })}\n`);
    return 1;
  }
}

async function runSkills(invocation: Invocation): Promise<void> {
  const { words, program } = invocation;
  const [action = "list", name] = words;
  const all = known(program);
  const json = flag(invocation, "json");
  if (action === "list") {
    if (json) return writeData(all.map(({ name: one, description }) => ({ name: one, description })));
    const width = Math.max(...all.map((one) => one.name.length));
    return writeOut(all.map((one) => `  ${one.name.padEnd(width)}  ${one.description}\n`).join(""));
  }
  if (action === "get") {
    const wanted = flag(invocation, "all") ? all : [found(name ?? noName(program), program)];
    if (json) return writeData(wanted.map((one) => contentOf(one, flag(invocation, "full"))));
    return writeOut(wanted.map(({ text }) => text).join("\n"));
  }
  if (action === "path") {
    const path = await folderOf(found(name ?? "qmd", program), invocation);
    if (json) return writeData(name === undefined ? { paths: [path] } : { name, path });
    return writeOut(`${path}\n`);
  }
  if (action !== "help") throw unknown(action, "list, get, path, help", program);
  writeOut(
    [
      `Usage: ${program} skills [list|get|path]`,
      "",
      "Commands:",
      "  list                       List skills (default)",
      "  get NAME|--all             Print one, or all",
      "  path [NAME]                Print the folder that holds it",
      "",
    ].join("\n"),
  );
}

/** JSON as qmd wraps it. */
function writeData(data: unknown): void {
  writeOut(`${JSON.stringify({ success: true, data })}\n`);
}

/** A skill with its text; with all of its other files where they are asked for. */
function contentOf({ name, text, path }: Skill, full: boolean): object {
  return { name, content: text, ...(full ? { files: path === null ? [] : filesBeside(path) } : {}) };
}

function filesBeside(folder: string): { path: string; content: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .filter((path) => path !== "SKILL.md")
    .sort()
    .map((path) => ({ path, content: readFileSync(join(folder, path), "utf8") }));
}

function noName(program: Program): never {
  throw new MemqError("USAGE", `No skill name provided. Usage: ${program} skills get <name>`);
}

function unknown(action: string, available: string, program: Program): MemqError {
  return new MemqError("USAGE", `Unknown subcommand: ${action}`, {
    hint: `Available: ${available}\n${doctorHint(program)}`,
  });
}

/** The built-in skill, or those of `QMD_SKILLS_DIR` in its place. */
function known(program: Program): Skill[] {
  const folder = envText(process.env, "QMD_SKILLS_DIR");
  if (folder === undefined) return [skillOf(ownSkill.replaceAll("$PROGRAM", program), "qmd", null)];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "SKILL.md")))
    .map(({ name }) => skillOf(readFileSync(join(folder, name, "SKILL.md"), "utf8"), name, join(folder, name)))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function skillOf(text: string, name: string, path: string | null): Skill {
  const description = /^description:[ \t]*(.+)$/m.exec(text)?.[1]?.trim() ?? "";
  return { name, description, text, path };
}

function found(name: string, program: Program): Skill {
  const all = known(program);
  const one = all.find((skill) => skill.name === name);
  if (one !== undefined) return one;
  throw new MemqError("SKILL_NOT_FOUND", `There is no skill called '${name}'.`, {
    hint: `Available: ${all.map((skill) => skill.name).join(", ")}`,
  });
}

/** The folder of a skill; the built-in one is written beside the index first. */
async function folderOf({ name, text, path }: Skill, invocation: Invocation): Promise<string> {
  if (path !== null) return path;
  const { cacheDir } = (await qmdHomeOf(invocation)).places;
  const folder = join(cacheDir, "skills", name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, "SKILL.md"), text);
  return folder;
}

/** Writes the skill to `.agents/skills`, and links it from `.claude/skills` where that is used. */
function install(invocation: Invocation): void {
  const { program } = invocation;
  const base = flag(invocation, "global") ? userHome(process.env) : shellFolder();
  const target = join(base, ".agents/skills/qmd");
  const link = join(base, ".claude/skills/qmd");
  const wantsLink = flag(invocation, "yes") || existsSync(join(base, ".claude"));
  const taken = [target, ...(wantsLink ? [link] : [])].find((path) => existsSync(path));
  if (taken !== undefined && !flag(invocation, "force")) {
    throw new MemqError("SKILL_EXISTS", `The skill is installed already: ${taken}`, {
      hint: `Run '${program} skill install --force' to replace it.`,
    });
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, "SKILL.md"), found("qmd", program).text);
  writeOut(`✓ Installed: ${join(target, "SKILL.md")}\n`);
  if (!wantsLink) return;
  mkdirSync(dirname(link), { recursive: true });
  // Where one folder of skills is the other by a link, there is nothing to link, and removing would take what was just written.
  if (realpathSync(dirname(link)) === realpathSync(dirname(target))) return;
  rmSync(link, { recursive: true, force: true });
  symlinkSync(relative(dirname(link), target), link);
  writeOut(`✓ Linked: ${link}\n`);
}
