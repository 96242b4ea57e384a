import { canonicalHash, canonicalHashInTurns } from '../manifests/audit/record.ts';
import { SvcError } from '../runtime/errors.ts';
import { hasMoreChars, type Json } from '../runtime/json.ts';
import { turnsFirst } from '../runtime/kit/waits.ts';

/** Each thing that is made of a value above this size gets a turn of the event loop of its own. */
const OWN_TURN_CHARS = 256 * 1024;

/** Resolves in a later turn of the event loop for a large value, and at once for another. */
export async function turnFor(value: unknown): Promise<void> {
  if (hasMoreChars(value, OWN_TURN_CHARS)) await turnsFirst();
}

/** SHA-256 of the canonical JSON of a value. */
export async function hashInTurns(value: unknown): Promise<string> {
  if (!hasMoreChars(value, OWN_TURN_CHARS)) return canonicalHash(value);
  await turnsFirst();
  const hash = await canonicalHashInTurns(value, turnsFirst);
  await turnsFirst();
  return hash;
}

/** A copy of a value without what JSON cannot have. */
export async function copyInTurns(value: unknown): Promise<Json> {
  const text = JSON.stringify(value);
  if (text.length > OWN_TURN_CHARS) await turnsFirst();
  const copy: Json = JSON.parse(text);
  return copy;
}

/**
 * Refuses a part of a start that its actor would certainly refuse, before anything is made of it. Throws `payload_too_large` naming
 * `field`.
 */
export function refuseCertainlyTooLarge(field: string, value: unknown, most: number): void {
  if (!hasMoreChars(value, most)) return;
  throw new SvcError('payload_too_large', `${field} has more than ${most} bytes`, {
    field,
    details: [{ path: field, message: `expected at most ${most}` }],
  });
}
