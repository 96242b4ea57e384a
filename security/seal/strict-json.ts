import type { z } from 'zod';

type Json = z.core.util.JSONType;

const MAX_DEPTH = 100;
/** Names in all objects together: checking more would hold up every other call of the node. */
const MAX_NAMES = 10_000;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const QUOTE = 0x22;
const COMMA = 0x2c;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const BACKSLASH = 0x5c;

/**
 * JSON whose meaning is one and the same for every reader, or null: valid UTF-8 without a byte order mark, no name twice
 * in an object, none called `__proto__`, at most 100 levels and 10,000 names. What is signed must not be read in two ways.
 */
export function parseStrictJson(bytes: Uint8Array): Json | null {
  try {
    const text = decoder.decode(bytes);
    return isUnambiguous(text) ? JSON.parse(text) : null;
  } catch (error) {
    // TypeError of the decoder, SyntaxError of the parser: either way it is no JSON.
    if (error instanceof TypeError || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Walks the text once. On text that is no JSON the answer means nothing: the parser refuses it afterwards. */
function isUnambiguous(text: string): boolean {
  /** Names of the objects around, null for a list. */
  const open: (Set<string> | null)[] = [];
  let names: Set<string> | null = null;
  let isName = false;
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    if (char === QUOTE) {
      const end = endOfString(text, index + 1);
      if (isName && names !== null) {
        count += 1;
        if (count > MAX_NAMES || !addName(names, text.slice(index, end + 1))) return false;
      }
      isName = false;
      index = end;
    } else if (char === OPEN_OBJECT || char === OPEN_LIST) {
      if (open.length >= MAX_DEPTH) return false;
      open.push(names);
      isName = char === OPEN_OBJECT;
      names = isName ? new Set() : null;
    } else if (char === CLOSE_OBJECT || char === CLOSE_LIST) {
      names = open.pop() ?? null;
    } else if (char === COMMA) isName = names !== null;
  }
  return true;
}

/** Whether a value that was parsed already has at most as many names as `parseStrictJson` takes. */
export function hasFewNames(value: unknown): boolean {
  const open: unknown[] = [value];
  let count = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const values = Object.values(next);
    if (!Array.isArray(next)) count += values.length;
    if (count > MAX_NAMES) return false;
    for (const inner of values) if (typeof inner === 'object' && inner !== null) open.push(inner);
  }
  return true;
}

/** Index of the quote that ends a string; the end of the text when none does. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH && quote - 1 - slashes >= from) slashes += 1;
    if (slashes % 2 === 0) return quote;
  }
  return text.length;
}

function addName(names: Set<string>, quoted: string): boolean {
  const name: unknown = JSON.parse(quoted);
  if (typeof name !== 'string' || name === '__proto__' || names.has(name)) return false;
  names.add(name);
  return true;
}
