import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Random, systemRandom } from '../runtime/random.ts';

const NAMESPACE = 'svc/execution/idempotency-key';

/** Value of the `Idempotency-Key` header: 1 to 255 visible ASCII characters. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .describe('The same key in the same tenant starts one execution, however often the call is repeated.');

/** A UUID that the same tenant and key always give (as UUIDv5 does), or a fresh one without a key. */
export function executionIdFor(tenant: string, key: string | undefined, random: Random = systemRandom): string {
  if (key === undefined) return random.uuid();
  const hash = createHash('sha1').update(`${NAMESPACE}\0${tenant}\0${key}`).digest().subarray(0, 16);
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
