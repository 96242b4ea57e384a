import { z } from 'zod';
import { derivedUuid } from '../runtime/derived-uuid.ts';
import { type Random, systemRandom } from '../runtime/random.ts';

const NAMESPACE = 'svc/execution/idempotency-key';

/** Value of the `Idempotency-Key` header: 1 to 255 visible ASCII characters. */
export const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters')
  .describe('The same key in the same tenant starts one execution, however often the call is repeated.');

/** A UUID that the same tenant and key always give, or a fresh one without a key. */
export function executionIdFor(tenant: string, key: string | undefined, random: Random = systemRandom): string {
  if (key === undefined) return random.uuid();
  return derivedUuid(NAMESPACE, tenant, key);
}
