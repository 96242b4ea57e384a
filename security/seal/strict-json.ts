import canonicalize from 'canonicalize';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { decodeBase64 } from './agent-key.ts';
import type { VerifiedCall } from './api.ts';

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

const METHODS = ['tools/call', 'call_tool'];

/** The chain records it, so that any RFC 8785 library must be able to write it. */
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
 * The JSON-RPC request in a payload, checked as a JSON-RPC request and no further: whether its arguments fit the tool is
 * the policy's question. `id` of a refused one where it could be read.
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
 * The signed bytes of a REST envelope's `payload`: base64 of them, or a JSON object, then its RFC 8785 form
 * (H13). Throws `invalid_argument` naming the field.
 */
export function payloadBytes(payload: unknown): Uint8Array {
  const bytes = typeof payload === 'string' ? decodeBase64(payload) : canonicalBytes(payload);
  if (bytes !== null) return bytes;
  throw new SvcError('invalid_argument', 'payload: expected base64 of the signed bytes, or a JSON object', {
    field: 'payload',
  });
}

function canonicalBytes(payload: unknown): Buffer | null {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload) || !hasFewNames(payload)) return null;
  try {
    const text = canonicalize(payload);
    // A half of a surrogate pair has no UTF-8: RFC 8785 refuses it.
    return text?.isWellFormed() ? Buffer.from(text) : null;
  } catch (error) {
    // Numbers that JSON cannot hold, and nesting without end.
    if (error instanceof Error) return null;
    throw error;
  }
}
