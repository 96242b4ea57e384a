import { isErrorCode, SvcError } from '../errors.ts';
import type { Json } from '../json.ts';
import type { Reply } from '../message.ts';

/** The value of an answer; a refusal is thrown as its `SvcError`. */
export function unwrapReply(reply: Reply): Json {
  if (reply.ok) return reply.value;
  const code = isErrorCode(reply.code) ? reply.code : 'internal';
  const details = Array.isArray(reply.details) ? reply.details.flatMap(toDetail) : undefined;
  throw new SvcError(code, reply.message, details === undefined ? {} : { details });
}

function toDetail(value: Json): { path?: string; message: string }[] {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || typeof value.message !== 'string')
    return [];
  return [{ message: value.message, ...(typeof value.path === 'string' ? { path: value.path } : {}) }];
}
