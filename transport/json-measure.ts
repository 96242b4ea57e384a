import { randomInt } from 'node:crypto';
import { SvcError } from '../runtime/errors.ts';
import type { Json } from '../runtime/json.ts';

/** What a JSON text is made of, counted without building anything. */
interface JsonMeasure {
  readonly values: number;
  /** Names in all objects together. */
  readonly names: number;
}

type JsonExcess = 'depth' | 'values' | 'names';

interface JsonBounds {
  readonly maxDepth: number;
  readonly maxValues: number;
  /** Names that differ: an object of many is what takes a parser, and whoever walks it, longest. */
  readonly maxNames: number;
}

const QUOTE = 0x22;

const BACKSLASH = 0x5c;

const [COMMA, COLON] = [0x2c, 0x3a];

const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Counts values and names in the UTF-8 of a JSON text, and stops at the first excess, so that nothing deep or numerous is
 * ever built. Of a text that is no JSON the numbers mean nothing: the parser refuses it afterwards. A mebibyte takes some
 * milliseconds, text in strings almost nothing.
 */
export function measureJson(json: Uint8Array, { maxDepth, maxValues, maxNames }: JsonBounds): JsonMeasure | JsonExcess {
  let depth = 0;
  let values = 1;
  let names = 0;
  // An opening bracket makes a value more only if something stands behind it.
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
      different.add(hashOf(json, string.from, string.end));
    }
    if (depth > maxDepth) return 'depth';
    if (values > maxValues) return 'values';
    if (different.size > maxNames) return 'names';
  }
  return { values, names };
}

/** Nobody outside can know it, and so choose names that fall together. */
const SEED = randomInt(2 ** 31);

const PRIME = 0x01000193;

/** FNV-1a of the bytes between two places. */
function hashOf(json: Uint8Array, from: number, end: number): number {
  let hash = SEED;
  for (let at = from + 1; at < end; at += 1) hash = Math.imul(hash ^ (json[at] ?? 0), PRIME);
  return hash;
}

/** Index of the quote that ends the string which begins at `from`; the last one when none does. */
export function endOfString(json: Uint8Array, from: number): number {
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

type JsonRead = { readonly value: Json } | { readonly problem: JsonProblem };

/** The same for UTF-8 bytes, without throwing. */
function readJson(bytes: Uint8Array, { maxDepth, maxValues = JSON_VALUES }: JsonPlace): JsonRead {
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
