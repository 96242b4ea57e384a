import canonicalize from 'canonicalize';
import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import type { VerifiedCall } from './api.ts';
import { decodeBase64 } from './base64.ts';
import { hasFewNames, parseStrictJson } from './strict-json.ts';

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

export type CallRequest = VerifiedCall['rpc'];

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
 * (decided.md "SEAL envelope"). Throws `invalid_argument` naming the field.
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
