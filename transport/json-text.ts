import { SvcError } from '../runtime/errors.ts';
import type { Json } from '../runtime/json.ts';
import { type JsonExcess, type JsonMeasure, measureJson } from './json-measure.ts';

/** Deepest nesting of JSON that a caller may send. */
export const JSON_DEPTH = 100;
/** Most values of one JSON text that a caller may send. */
export const JSON_VALUES = 100_000;
/** Most different names in all objects of one text. */
export const JSON_NAMES = 10_000;

export interface JsonPlace {
  readonly field: string;
  /** Begins the text of an error: "the body". */
  readonly what: string;
  readonly maxDepth: number;
  /** Default `JSON_VALUES`. */
  readonly maxValues?: number;
}

/** What is wrong with a text, in a form that threads can tell one another. */
export type JsonProblem = 'utf-8' | 'syntax' | 'name_twice' | 'prototype' | JsonExcess;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses JSON that came from outside. Throws `invalid_argument` naming `field` when it is not valid, nested deeper than
 * `maxDepth`, has a name twice in one object or one called `__proto__`, which readers understand differently;
 * `payload_too_large` when it has too many values or names.
 */
export function parseJson(text: string, place: JsonPlace): Json {
  const read = readJson(Buffer.from(text), place);
  if ('problem' in read) throw refusedJson(read.problem, place);
  return read.value;
}

export type JsonRead = { readonly value: Json } | { readonly problem: JsonProblem };

/** The same for UTF-8 bytes, without throwing. */
export function readJson(bytes: Uint8Array, { maxDepth, maxValues = JSON_VALUES }: JsonPlace): JsonRead {
  const measure = measureJson(bytes, { maxDepth, maxValues, maxNames: JSON_NAMES });
  return typeof measure === 'string' ? { problem: measure } : readMeasured(bytes, measure);
}

/** Of bytes whose bounds were checked. */
export function readMeasured(bytes: Uint8Array, { names }: JsonMeasure): JsonRead {
  const text = decoded(bytes);
  if (text === null) return { problem: 'utf-8' };
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return { problem: 'syntax' };
    throw error;
  }
  const kept = namesOf(value);
  if (kept === null) return { problem: 'prototype' };
  // The parser keeps one of two members with the same name, so fewer are left than the text has.
  return kept < names ? { problem: 'name_twice' } : { value };
}

/** Null: not valid UTF-8. */
export function decoded(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/** How many names all objects of a value have, null when one is `__proto__`: copied later, it would become a prototype. */
function namesOf(value: Json): number | null {
  if (value === null || typeof value !== 'object') return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const inner of value) {
      const within = namesOf(inner);
      if (within === null) return null;
      count += within;
    }
    return count;
  }
  for (const name in value) {
    if (name === '__proto__') return null;
    const within = namesOf(value[name] ?? null);
    if (within === null) return null;
    count += 1 + within;
  }
  return count;
}

const TOO_MUCH: ReadonlySet<JsonProblem> = new Set(['values', 'names']);

export function refusedJson(problem: JsonProblem, place: JsonPlace): SvcError {
  const { field, what, maxDepth, maxValues = JSON_VALUES } = place;
  const says: Readonly<Record<JsonProblem, string>> = {
    'utf-8': 'is not valid UTF-8',
    syntax: 'is not valid JSON',
    depth: `is nested deeper than ${maxDepth} levels`,
    values: `has more than ${maxValues} JSON values`,
    names: `has more than ${JSON_NAMES} different names of members`,
    name_twice: 'has an object with the same name twice',
    prototype: 'has a member named __proto__',
  };
  return new SvcError(TOO_MUCH.has(problem) ? 'payload_too_large' : 'invalid_argument', `${what} ${says[problem]}`, {
    field,
  });
}
