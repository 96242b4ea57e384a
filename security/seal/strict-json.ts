import canonicalize from 'canonicalize';
import { z } from 'zod';
import { invalidField } from '../../runtime/errors.ts';
import { decodeBase64 } from './agent-key.ts';
import type { VerifiedCall } from './api.ts';

type Json = z.core.util.JSONType;

const MAX_DEPTH = 100;

/** Maximum number of names in all objects together, since a longer check would block other calls of the node. */
const MAX_NAMES = 10_000;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const QUOTE = 0x22;

const COMMA = 0x2c;

const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

const BACKSLASH = 0x5c;

/**
 * Parses JSON that all readers understand in the same way: valid UTF-8 without a byte order mark, no duplicate names in an
 * object, no name `__proto__`, at most 100 levels and 10,000 names. Returns null for anything else, since signed content must
 * not have two meanings.
 */
export function parseStrictJson(bytes: Uint8Array): Json | null {
  try {
    const text = decoder.decode(bytes);
    return isUnambiguous(text) ? JSON.parse(text) : null;
  } catch (error) {
    // TypeError of the decoder, SyntaxError of the parser: in both cases it is not JSON.
    if (error instanceof TypeError || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Scans the text once. The result is meaningless for text that is not JSON, which the parser refuses afterwards. */
function isUnambiguous(text: string): boolean {
  /** Names of the enclosing objects; null for a list. */
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

/** Whether a parsed value has at most as many names as `parseStrictJson` allows. */
function hasFewNames(value: unknown): boolean {
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

/** Index of the quote that ends a string; the end of the text when there is none. */
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

const METHODS = ['tools/call', 'call_tool'];

/** The audit chain records it, so every RFC 8785 library must be able to serialise it. */
const recorded = (maxChars: number) =>
  z
    .string()
    .max(maxChars)
    .refine((text) => text.isWellFormed());

const Id = z.union([recorded(256).min(1), z.int()]);

const Request = z.object({
  jsonrpc: z.literal('2.0'),
  id: Id,
  method: z.enum(METHODS),
  params: z.looseObject({
    name: recorded(200).nullish(),
    arguments: z.unknown().optional(),
  }),
});

type CallRequest = VerifiedCall['rpc'];

/**
 * The JSON-RPC request in a payload, validated as JSON-RPC only; the policy checks whether its arguments fit the tool. A
 * refused one has its `id` where it could be read.
 */
export function parseCall(
  payload: Uint8Array,
): { readonly ok: true; readonly rpc: CallRequest } | { readonly ok: false; readonly id: CallRequest['id'] | null } {
  const json = parseStrictJson(payload);
  const request = Request.safeParse(json);
  if (!request.success) return { ok: false, id: z.object({ id: Id }).safeParse(json).data?.id ?? null };
  const { id, params } = request.data;
  return { ok: true, rpc: { id, tool: params.name || null, arguments: params.arguments ?? {} } };
}

/**
 * The signed bytes of a REST envelope's `payload`: decoded from base64, or the RFC 8785 form of a JSON object (H13). Throws
 * `invalid_argument` naming the field.
 */
export function payloadBytes(payload: unknown): Uint8Array {
  const bytes = typeof payload === 'string' ? decodeBase64(payload) : canonicalBytes(payload);
  if (bytes !== null) return bytes;
  throw invalidField('payload', 'expected base64 of the signed bytes, or a JSON object');
}

function canonicalBytes(payload: unknown): Buffer | null {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload) || !hasFewNames(payload)) return null;
  try {
    const text = canonicalize(payload);
    // A lone surrogate has no UTF-8 encoding; RFC 8785 refuses it.
    return text?.isWellFormed() ? Buffer.from(text) : null;
  } catch (error) {
    // Numbers that JSON cannot represent, and too deep nesting.
    if (error instanceof Error) return null;
    throw error;
  }
}
