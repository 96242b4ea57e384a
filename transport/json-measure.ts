import { randomInt } from 'node:crypto';

/** What a JSON text is made of, counted without building anything. */
export interface JsonMeasure {
  readonly values: number;
  /** Names in all objects together. */
  readonly names: number;
}

export type JsonExcess = 'depth' | 'values' | 'names';

export interface JsonBounds {
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
