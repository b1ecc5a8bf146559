import { isObject } from "../json.ts";
import { replaceBlocks } from "./blocks.ts";
import { redactSecrets } from "./redact.ts";

/** A session transcript as it is indexed: one line per piece of a turn, each traceable to its line of the JSONL file. */
export type RenderedTranscript = {
  /** `User: …` and `Assistant: …` lines. */
  text: string;
  /** For each line of `text`, the 1-based line of the JSONL file it came from. */
  sourceLines: number[];
  /** Time of the last turn kept, in milliseconds since 1970; null when no turn carries one. */
  lastActivityMs: number | null;
};

/** Longer turns are wrapped, so that a passage of a monologue stays within a passage's size. */
const WRAP_CHARS = 800;

/**
 * Whether a file in a sessions folder is a transcript: `<id>.jsonl` and its archives (`.jsonl.reset.<time>`,
 * `.jsonl.deleted.<time>`). Trajectories, checkpoints, locks and backups lie beside it and say the same things again.
 */
export function isTranscriptName(name: string): boolean {
  if (!/^[^.][^/]*\.jsonl(?:\.(?:reset|deleted)\.[0-9TZ:._-]+)?$/.test(name)) return false;
  return !/\.(?:trajectory|checkpoint|lock|bak)\b/.test(name);
}

/** Session id of a transcript's file name: the name up to `.jsonl`. */
export function sessionIdOf(name: string): string {
  return name.replace(/\.jsonl(?:\..*)?$/, "");
}

/** The user's and the assistant's turns of a JSONL transcript, cleaned and with secrets masked. Unreadable lines are passed over. */
export function renderTranscript(jsonl: string): RenderedTranscript {
  const lines: string[] = [];
  const sourceLines: number[] = [];
  let lastActivityMs: number | null = null;
  let lineNumber = 0;
  for (const raw of jsonl.split("\n")) {
    lineNumber += 1;
    const turn = readTurn(raw);
    if (turn === null) continue;
    if (turn.timeMs !== null) lastActivityMs = Math.max(lastActivityMs ?? 0, turn.timeMs);
    for (const piece of wrap(turn.text)) {
      lines.push(`${turn.label}: ${piece}`);
      sourceLines.push(lineNumber);
    }
  }
  return { text: lines.join("\n"), sourceLines, lastActivityMs };
}

type Turn = { label: "User" | "Assistant"; text: string; timeMs: number | null };

function readTurn(raw: string): Turn | null {
  if (raw.trim() === "") return null;
  let entry: unknown;
  try {
    entry = JSON.parse(raw);
  } catch {
    return null;
  }
  if (!isObject(entry) || entry["type"] !== "message" || !isObject(entry["message"])) return null;
  const message = entry["message"];
  const role = message["role"];
  if (role !== "user" && role !== "assistant") return null;
  // Messages that one session sent to another are not what the user said.
  if (isObject(message["provenance"]) && message["provenance"]["kind"] === "inter_session") return null;
  const text = cleanTurn(textOf(message["content"]), role);
  if (text === "") return null;
  return { label: role === "user" ? "User" : "Assistant", text: redactSecrets(text), timeMs: timeOf(entry, message) };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter(
      (block): block is { text: string } =>
        isObject(block) && block["type"] === "text" && typeof block["text"] === "string",
    )
    .map((block) => block.text)
    .join("\n");
}

function timeOf(entry: Record<string, unknown>, message: Record<string, unknown>): number | null {
  return [message["timestamp"], entry["timestamp"]].map(timeStamped).find((time) => time !== null) ?? null;
}

/** No session is older, and none of these years in one unit is one of them in another. */
const SANE = { from: Date.UTC(2000), to: Date.UTC(2100) };
/** Of a second, a millisecond, a microsecond and a nanosecond, in milliseconds. */
const UNITS = [1000, 1, 1e-3, 1e-6];

/** Milliseconds since 1970 of a time stamp as programs write them: a number in any usual unit, or text; null when it is no sane time. */
function timeStamped(stamp: unknown): number | null {
  const times =
    typeof stamp === "number"
      ? UNITS.map((unit) => stamp * unit)
      : typeof stamp === "string"
        ? [Date.parse(stamp)]
        : [];
  return times.find((time) => time >= SANE.from && time < SANE.to) ?? null;
}

/** How the line ends that announces a block of JSON which a gateway puts before what a person wrote. */
const ENVELOPE = "(untrusted metadata):";
const FENCES = ["```json\n", "```\n"];
const AFTER_FENCE = /[ \t]*\n?/y;

/** What follows the blocks at the beginning. */
function withoutEnvelopes(text: string): string {
  let from = 0;
  for (let end = envelopeEnd(text, from); end !== null; end = envelopeEnd(text, from)) from = end;
  return text.slice(from);
}

/** Where the block that stands at `from`, after blanks, ends; null when there is none. */
function envelopeEnd(text: string, from: number): number | null {
  const start = placeOf(/\S/g, text, from);
  const lineEnd = text.indexOf("\n", start);
  if (lineEnd < 0 || !text.slice(start, lineEnd).trimEnd().endsWith(ENVELOPE)) return null;
  const opening = placeOf(/\S/g, text, lineEnd);
  const fence = FENCES.find((one) => text[opening - 1] === "\n" && text.startsWith(one, opening));
  const closing = fence === undefined ? -1 : text.indexOf("\n```", opening + fence.length);
  if (closing < 0) return null;
  AFTER_FENCE.lastIndex = closing + "\n```".length;
  return AFTER_FENCE.lastIndex + (AFTER_FENCE.exec(text)?.[0].length ?? 0);
}

/** Where the first match at or behind `from` begins, or the end of the text. */
function placeOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

const RUNTIME_CONTEXT = /<(runtime-context|system-reminder|relevant-memories)>/g;

function withoutRuntimeContext(text: string): string {
  return replaceBlocks(
    text,
    RUNTIME_CONTEXT,
    ([, name]) => new RegExp(`</${name}>`, "g"),
    () => " ",
  );
}

/** User messages that a machine wrote. */
const MACHINE_PROMPTS: readonly RegExp[] = [
  /^System(?: \(untrusted\))?: \[/,
  /^\[cron:/,
  /^\[inter-session message\]/i,
  /^Read HEARTBEAT\.md\b/,
  /^(?:An async command|A scheduled reminder)\b.*\b(?:completed|finished|has been triggered)/,
];

function cleanTurn(text: string, role: "user" | "assistant"): string {
  const said = role === "user" ? withoutRuntimeContext(withoutEnvelopes(text)) : text;
  const out = said.replace(/\s+/g, " ").trim();
  if (role === "user" && MACHINE_PROMPTS.some((pattern) => pattern.test(out))) return "";
  if (role === "assistant" && /^(?:NO_REPLY|HEARTBEAT_OK)\.?$/.test(out)) return "";
  return out;
}

/** Pieces of at most `WRAP_CHARS` UTF-16 units, cut at a blank where there is one, never inside a surrogate pair. */
function wrap(text: string): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest.length > WRAP_CHARS) {
    let cut = rest.lastIndexOf(" ", WRAP_CHARS);
    if (cut <= 0) {
      cut = WRAP_CHARS;
      const unit = rest.charCodeAt(cut - 1);
      if (unit >= 0xd800 && unit <= 0xdbff) cut -= 1;
    }
    pieces.push(rest.slice(0, cut));
    rest = rest.slice(cut).trimStart();
  }
  pieces.push(rest);
  return pieces;
}
