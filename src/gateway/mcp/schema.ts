import { MemqError } from "../../errors.ts";
import { isObject } from "../../json.ts";

type TypeName = "string" | "number" | "integer" | "boolean" | "array" | "object" | "null";

/** The part of JSON Schema (2020-12) with which tools describe what they take and give. */
export type Schema = {
  $schema?: string;
  type: TypeName | readonly TypeName[];
  description?: string;
  enum?: readonly string[];
  default?: string | number | boolean;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: false;
};

export type ObjectSchema = Schema & { type: "object" };

/** The value that a schema lets pass, as a type. */
type ValueOf<S> = S extends { enum: readonly (infer E)[] }
  ? E
  : S extends { type: "string" }
    ? string
    : S extends { type: "number" | "integer" }
      ? number
      : S extends { type: "boolean" }
        ? boolean
        : S extends { type: "array"; items: infer I }
          ? ValueOf<I>[]
          : S extends { type: "object"; properties: infer P }
            ? { [K in keyof P]: ValueOf<P[K]> | Absent<S, P, K> }
            : unknown;

/** `undefined` for a property that may be left out. */
type Absent<S, P, K extends keyof P> = P[K] extends { default: unknown }
  ? never
  : S extends { required: readonly (infer R)[] }
    ? K extends R
      ? never
      : undefined
    : undefined;

/** The arguments of a tool as its code sees them: checked, with defaults. */
export type ArgumentsOf<S> = ValueOf<S>;

/** Arguments with defaults filled in; a null stands for nothing. */
export function withDefaults(given: Record<string, unknown>, schema: ObjectSchema): Record<string, unknown> {
  const args = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== undefined));
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default !== undefined && !Object.hasOwn(args, name)) args[name] = property.default;
  }
  return args;
}

/** Arguments as `ArgumentsOf` types them; throws a sentence that names the one at fault. */
export function checkedArguments<S extends ObjectSchema>(given: Record<string, unknown>, schema: S): ArgumentsOf<S> {
  const args = withDefaults(given, schema);
  const fault = faultIn(args, schema);
  if (fault !== null) throw new MemqError("BAD_ARGUMENTS", fault);
  return args as ArgumentsOf<S>;
}

/** What is wrong with a value, in a sentence that names the place, or null when it fits. */
export function faultIn(value: unknown, schema: Schema, name = ""): string | null {
  const types = Array.isArray(schema.type) ? (schema.type as readonly TypeName[]) : [schema.type as TypeName];
  if (!types.some((type) => isOfType(value, type))) return `${name} must be ${types.map(article).join(" or ")}`;
  if (typeof value === "string") return faultInText(value, schema, name);
  if (typeof value === "number") return faultInNumber(value, schema, name);
  if (Array.isArray(value)) return faultInList(value, schema, name);
  return isObject(value) ? faultInObject(value, schema, name) : null;
}

function faultInText(value: string, { enum: allowed }: Schema, name: string): string | null {
  return allowed === undefined || allowed.includes(value) ? null : `${name} must be one of: ${allowed.join(", ")}`;
}

function faultInNumber(value: number, { minimum, maximum }: Schema, name: string): string | null {
  if (minimum !== undefined && value < minimum) return `${name} must be at least ${minimum}`;
  return maximum !== undefined && value > maximum ? `${name} must be at most ${maximum}` : null;
}

function faultInList(value: unknown[], { items, maxItems }: Schema, name: string): string | null {
  if (maxItems !== undefined && value.length > maxItems) return `${name} must have at most ${maxItems} entries`;
  if (items === undefined) return null;
  return firstFault(value.map((one, at) => () => faultIn(one, items, `${name}[${at}]`)));
}

function faultInObject(value: Record<string, unknown>, schema: Schema, name: string): string | null {
  const { properties = {}, required = [], additionalProperties } = schema;
  const place = (key: string): string => (name === "" ? key : `${name}.${key}`);
  const missing = required.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `${place(missing)} is required`;
  return firstFault(
    Object.entries(value).map(([key, one]) => () => {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      if (property !== undefined) return faultIn(one, property, place(key));
      return additionalProperties === false ? `${place(key)} is not a parameter` : null;
    }),
  );
}

function firstFault(checks: (() => string | null)[]): string | null {
  for (const check of checks) {
    const fault = check();
    if (fault !== null) return fault;
  }
  return null;
}

function isOfType(value: unknown, type: TypeName): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isSafeInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    default:
      return typeof value === type;
  }
}

function article(type: TypeName): string {
  const names: Partial<Record<TypeName, string>> = {
    array: "a list",
    object: "an object",
    integer: "a whole number",
    boolean: "true or false",
    null: "null",
  };
  return names[type] ?? `a ${type}`;
}
