import { z } from 'zod';
import { compiledWhenHot } from './kit/hot-schema.ts';

/** Plain JSON: the type of all values that cross a port. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type JsonObject = { [key: string]: Json };

/**
 * Schema for JSON inside a message, event or state. It checks only the outside: the value was parsed from JSON text,
 * and payloads of up to 16 MiB are read at every hop.
 */
export const jsonField = z.custom<Json>((value) => value !== undefined, 'expected a JSON value');

export const jsonObjectField = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected an object',
);

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of a text, or null when the text is not JSON. The parser's error would quote the text, which may hold a secret. */
export function jsonOrNull(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}

/** The object that a text is as JSON; null for another text, which is not parsed. */
export function jsonObjectIn(text: string): JsonObject | null {
  const value = text.trimStart().startsWith('{') ? jsonOrNull(text) : null;
  return isJsonObject(value) ? value : null;
}

/** Converts a value to JSON: undefined members are dropped, dates become text. */
export function plainJson(value: unknown): Json {
  const plain: Json = JSON.parse(JSON.stringify(value));
  return plain;
}

/** `plainJson` for a value that is an object in JSON. Throws otherwise. */
export function plainObject(value: object): JsonObject {
  const plain = plainJson(value);
  if (!isJsonObject(plain)) throw new Error('expected an object');
  return plain;
}

/** A value as an object: `{value}` for one that is none. */
export const asJsonObject = (value: Json): JsonObject => (isJsonObject(value) ? value : { value });

/** A place at which two values differ. An absent value is undefined. */
interface JsonDifference {
  readonly path: readonly string[];
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** The places at which two values differ, at any depth of objects and lists, in the order of their members. */
export function* jsonDifferences(
  before: Json | undefined,
  after: Json | undefined,
  path: readonly string[] = [],
): Generator<JsonDifference, void> {
  if (before === after) return;
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) {
    yield { path, before, after };
    return;
  }
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  for (const name of new Set([...old.keys(), ...now.keys()]))
    yield* jsonDifferences(old.get(name), now.get(name), [...path, name]);
}

const isContainer = (value: Json | undefined): value is JsonObject | Json[] =>
  typeof value === 'object' && value !== null;

/**
 * A schema for a large part of a state that is set once and carried along. It checks an object when the process first
 * sees it (made by a turn, or read from the store) and not again while turns keep the very same object. This is safe
 * because states are never changed in place.
 */
export function cachedSchema<Schema extends z.ZodObject>(schema: Schema) {
  const parsed = new WeakMap<object, z.output<Schema>>();
  const current = compiledWhenHot(schema);
  return z.unknown().transform((value, context): z.output<Schema> => {
    const known = typeof value === 'object' && value !== null ? parsed.get(value) : undefined;
    if (known !== undefined) return known;
    const read = current().safeParse(value);
    if (!read.success) {
      for (const { path, message } of read.error.issues) context.addIssue({ code: 'custom', path, message });
      return z.NEVER;
    }
    parsed.set(read.data, read.data);
    return read.data;
  });
}

/** Characters that each value counts besides its own. */
const VALUE_CHARS = 1;

/**
 * Whether the JSON text of a value certainly has more characters than `most`, without making it: the characters of its names and
 * strings and one for each value. Stops at the first excess.
 */
export const hasMoreChars = (value: unknown, most: number): boolean => charsLeft(value, most) < 0;

/** What is left of a number of characters behind those of a value; negative: they are too few. */
function charsLeft(value: unknown, most: number): number {
  let left = most - VALUE_CHARS;
  if (typeof value === 'string') return left - value.length;
  if (typeof value !== 'object' || value === null) return left;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at += 1) left = charsLeft(value[at], left);
    return left;
  }
  const names = Object.keys(value);
  for (const name of names) left -= name.length;
  if (left < 0) return left;
  const inner: unknown[] = Object.values(value);
  for (let at = 0; at < inner.length && left >= 0; at += 1) left = charsLeft(inner[at], left);
  return left;
}
