import { MemqError, usageError } from "../errors.ts";
import type { NumberRange, Option } from "./options.ts";

/** Refuses a value that the option can't have, whether or not the command uses the option. Throws a usage error that says what it takes. */
export function checkValue(name: string, option: Omit<Option, "description">, text: string): void {
  const { choices, anyCase, range, refusal } = option;
  const fits =
    (choices?.includes(anyCase ? text.trim().toLowerCase() : text) ?? true) &&
    (range === undefined || isWithin(range, text));
  if (fits) return;
  if (refusal !== undefined) throw new MemqError("USAGE", refusal(text));
  const word = name.length === 1 ? `-${name}` : `--${name}`;
  const takes = range === undefined ? choices?.join(", ") : rangeInWords(range);
  throw usageError(`${word} takes ${takes}, not '${text}'`);
}

function isWithin({ min, max = Number.MAX_SAFE_INTEGER, whole }: NumberRange, text: string): boolean {
  // An exponent makes sense where small numbers do.
  const form = whole ? /^\s*[+-]?\d+(?:\.\d*)?\s*$/ : /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;
  const parsed = form.test(text) ? Number(text) : Number.NaN;
  return parsed >= min && parsed <= max && (!whole || Number.isInteger(parsed));
}

function rangeInWords({ min, max, whole }: NumberRange): string {
  const kind = whole ? "a whole number" : "a number";
  if (min === -Number.MAX_SAFE_INTEGER) return kind;
  return max === undefined ? `${kind} of at least ${min}` : `${kind} from ${min} to ${max}`;
}
