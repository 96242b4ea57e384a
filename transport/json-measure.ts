import { randomInt } from 'node:crypto';
import { SvcError } from '../runtime/errors.ts';
import type { Json } from '../runtime/json.ts';

/** Counts of a JSON text, made without parsing it. */
interface JsonMeasure {
  readonly values: number;
  /** Number of names in all objects. */
  readonly names: number;
}

type JsonExcess = 'depth' | 'values' | 'names' | 'name_bytes';

interface JsonBounds {
  readonly maxDepth: number;
  readonly maxValues: number;
  /** Most different names: large objects take a parser, and every function that walks them, the longest time. */
  readonly maxNames: number;
}

const QUOTE = 0x22;

const BACKSLASH = 0x5c;

const [COMMA, COLON] = [0x2c, 0x3a];

const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Counts values and names in the UTF-8 of a JSON text and stops at the first excess, so that nothing too deep or too
 * large is ever built. The counts of an invalid text mean nothing; the parser refuses it afterwards. A mebibyte takes
 * some milliseconds, text in strings almost nothing.
 */
export function measureJson(json: Uint8Array, { maxDepth, maxValues, maxNames }: JsonBounds): JsonMeasure | JsonExcess {
  let depth = 0;
  let values = 1;
  let names = 0;
  let nameBytes = 0;
  // An opening bracket adds a value only when something follows it.
  let opened = false;
  let string = { from: 0, end: 0 };
  const different = new Set<number>();
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (isSpace(byte)) continue;
    const closes = byte === CLOSE_LIST || byte === CLOSE_OBJECT;
    if (opened && !closes) values += 1;
    opened = byte === OPEN_LIST || byte === OPEN_OBJECT;
    if (byte === QUOTE) {
      string = { from: at, end: endOfString(json, at) };
      at = string.end;
    } else if (opened) depth += 1;
    else if (closes) depth -= 1;
    else if (byte === COMMA) values += 1;
    else if (byte === COLON) {
      names += 1;
      nameBytes += string.end - string.from;
      different.add(hashOf(json, string.from, string.end));
    }
    if (depth > maxDepth) return 'depth';
    if (values > maxValues) return 'values';
    if (different.size > maxNames) return 'names';
    if (nameBytes > JSON_NAME_BYTES) return 'name_bytes';
  }
  return { values, names };
}

/** Random, so that a caller cannot choose names with equal hashes. */
const SEED = randomInt(2 ** 31);

const PRIME = 0x01000193;

/** FNV-1a hash of the bytes between the quotes at `from` and `end`. */
function hashOf(json: Uint8Array, from: number, end: number): number {
  let hash = SEED;
  for (let at = from + 1; at < end; at += 1) hash = Math.imul(hash ^ (json[at] ?? 0), PRIME);
  return hash;
}

/** Index of the quote that ends the string which begins at `from`; the end of the text when there is none. */
function endOfString(json: Uint8Array, from: number): number {
  for (let quote = json.indexOf(QUOTE, from + 1); quote !== -1; quote = json.indexOf(QUOTE, quote + 1)) {
    let slashes = 0;
    while (json[quote - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote;
  }
  return json.length;
}

/** Deepest nesting of JSON that a caller may send. */
export const JSON_DEPTH = 100;

/** Most values of one JSON text that a caller may send. */
export const JSON_VALUES = 100_000;

/** Most different names in all objects of one JSON text that a caller may send. */
export const JSON_NAMES = 10_000;

export interface JsonPlace {
  readonly field: string;
  /** Subject of the error text, such as "the body". */
  readonly what: string;
  readonly maxDepth: number;
}

/** What is wrong with a text, as a value that can be sent between threads. */
export type JsonProblem = 'utf-8' | 'syntax' | 'name_twice' | 'prototype' | 'number' | JsonExcess;

/** Most bytes of all names together: a parser hashes each, which costs more than its text. */
const JSON_NAME_BYTES = 4 * 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses JSON from outside. Throws `invalid_argument` naming `field` when the text is not valid, is nested deeper than
 * `maxDepth`, repeats a name in one object or has the name `__proto__` (readers treat both differently), has a number that
 * would become `null` when it is stored, and `payload_too_large` when it has too many values or names.
 */
export function parseJson(text: string, place: JsonPlace): Json {
  const read = readJson(Buffer.from(text), place);
  if ('problem' in read) throw refusedJson(read.problem, place);
  return read.value;
}

type JsonRead = { readonly value: Json } | { readonly problem: JsonProblem };

/** Like `parseJson`, for UTF-8 bytes, and returns a problem instead of throwing. */
function readJson(bytes: Uint8Array, { maxDepth }: JsonPlace): JsonRead {
  const measure = measureJson(bytes, { maxDepth, maxValues: JSON_VALUES, maxNames: JSON_NAMES });
  return typeof measure === 'string' ? { problem: measure } : readMeasured(bytes, measure);
}

/** Parses bytes whose limits were already checked. */
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
  if (typeof kept === 'string') return { problem: kept };
  // The parser keeps one of two members with the same name, so a repeated name leaves fewer names than the text has.
  return kept < names ? { problem: 'name_twice' } : { value };
}

/** Decodes bytes; null when they are not valid UTF-8. */
export function decoded(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

/**
 * Number of names in all objects of a value; `prototype` when one is `__proto__`, which would become a prototype when copied,
 * and `number` for a number beyond the largest, such as 1e400.
 */
function namesOf(value: Json): number | 'prototype' | 'number' {
  if (value === null || typeof value !== 'object') return value === Infinity || value === -Infinity ? 'number' : 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const inner of value) {
      const within = namesOf(inner);
      if (typeof within === 'string') return within;
      count += within;
    }
    return count;
  }
  for (const name in value) {
    if (name === '__proto__') return 'prototype';
    const within = namesOf(value[name] ?? null);
    if (typeof within === 'string') return within;
    count += 1 + within;
  }
  return count;
}

const TOO_MUCH: ReadonlySet<JsonProblem> = new Set(['values', 'names', 'name_bytes']);

export function refusedJson(problem: JsonProblem, place: JsonPlace): SvcError {
  const { field, what, maxDepth } = place;
  const says: Readonly<Record<JsonProblem, string>> = {
    'utf-8': 'is not valid UTF-8',
    syntax: 'is not valid JSON',
    depth: `is nested deeper than ${maxDepth} levels`,
    values: `has more than ${JSON_VALUES} JSON values`,
    names: `has more than ${JSON_NAMES} different names of members`,
    name_bytes: `has names of members of more than ${JSON_NAME_BYTES} bytes together`,
    name_twice: 'has an object with the same name twice',
    prototype: 'has a member named __proto__',
    number: 'has a number larger than 1.8e308',
  };
  return new SvcError(TOO_MUCH.has(problem) ? 'payload_too_large' : 'invalid_argument', `${what} ${says[problem]}`, {
    field,
  });
}

/**
 * Finds the text of a member of a JSON object in its bytes without parsing them, so that a token can be checked before
 * the rest of a body. Undefined when the member is missing, or when its name or text has escapes, which writers of
 * tokens never use.
 */
export function textMember(json: Uint8Array, name: string): string | undefined {
  const wanted = Buffer.from(`"${name}"`);
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1;
    else if (byte === QUOTE) {
      const end = endOfString(json, at);
      const value = depth === 1 ? valueBehind(json, end) : -1;
      if (value !== -1 && wanted.equals(json.subarray(at, end + 1))) return textAt(json, value);
      at = end;
    }
  }
  return undefined;
}

/** Index of the value after the name that ends at `end`; -1 when that string is not a name. */
function valueBehind(json: Uint8Array, end: number): number {
  let at = end + 1;
  while (isSpace(json[at])) at += 1;
  if (json[at] !== COLON) return -1;
  at += 1;
  while (isSpace(json[at])) at += 1;
  return at;
}

function textAt(json: Uint8Array, at: number): string | undefined {
  if (json[at] !== QUOTE) return undefined;
  const text = json.subarray(at + 1, endOfString(json, at));
  return text.includes(BACKSLASH) ? undefined : Buffer.from(text).toString('latin1');
}
