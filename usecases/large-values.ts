import { createHash } from 'node:crypto';
import { canonicalHash, canonicalText } from '../manifests/audit/record.ts';
import { SvcError } from '../runtime/errors.ts';
import { hasMoreChars } from '../runtime/json.ts';
import { inTurns, jsonPieces, type PieceRules } from '../runtime/kit/json-pieces.ts';
import { turnsFirst } from '../runtime/kit/waits.ts';

/** Work on a value above this size gets its own turn of the event loop. */
const OWN_TURN_CHARS = 64 * 1024;

/** Resolves in a later turn of the event loop for a large value, and at once for another. */
export async function turnFor(value: unknown): Promise<void> {
  if (hasMoreChars(value, OWN_TURN_CHARS)) await turnsFirst();
}

/** SHA-256, hex, of the canonical JSON of a value. A large value is written and hashed piece by piece. */
export async function hashInTurns(value: unknown): Promise<string> {
  if (!hasMoreChars(value, OWN_TURN_CHARS)) return canonicalHash(value);
  await turnsFirst();
  const sum = createHash('sha256');
  await inTurns(jsonPieces(value, CANONICAL), (part) => sum.update(part));
  return sum.digest('hex');
}

/** The same rules as `canonicalText`. */
const CANONICAL: PieceRules = {
  whole: canonicalText,
  names(value) {
    const names = Object.keys(value);
    return names.every((name) => name.isWellFormed()) ? names.sort() : null;
  },
  text: (value) => value.toWellFormed(),
};

/**
 * Refuses a part of a start that its actor would certainly refuse, before anything is created for it. `limit` is that of
 * the actor, in bytes. Throws `payload_too_large` naming `field`.
 */
export function refuseCertainlyTooLarge(field: string, value: unknown, mostChars: number, limit = mostChars): void {
  if (!hasMoreChars(value, mostChars)) return;
  throw new SvcError('payload_too_large', `${field} has more than ${limit} bytes`, {
    field,
    details: [{ path: field, message: `expected at most ${limit}` }],
  });
}
