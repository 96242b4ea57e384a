import type { EffectMode } from '../actor-store.ts';
import type { RetryPolicy } from '../define-actor.ts';
import type { SvcError } from '../errors.ts';
import type { Random } from '../random.ts';

/** No policy sets more, and an effect that takes its node down each time ends here instead of going round for ever. */
export const MOST_ATTEMPTS = 100;
/** No Retry-After of the other side makes an effect wait longer. */
const LONGEST_WAIT_MS = 60 * 60_000;

/**
 * Delay before the next attempt of a failed effect, null when it is not to be tried again (design E3). Attempts that
 * ended with a crash or a restart count too. Full jitter, so that a thousand refused callers do not come back at once;
 * a wait that the other side asked for is kept. A `once` effect whose time ran out may have acted: it is not repeated.
 */
export function retryDelayMs(
  error: SvcError,
  attempt: number,
  mode: EffectMode,
  policy: RetryPolicy | undefined,
  random: Random,
): number | null {
  if (policy === undefined || error.row.kind !== 'retry') return null;
  if (attempt >= Math.min(policy.maxAttempts, MOST_ATTEMPTS)) return null;
  if (mode === 'once' && error.code === 'deadline_exceeded') return null;
  if (error.retryAfterMs !== undefined) return Math.min(Math.max(0, error.retryAfterMs), LONGEST_WAIT_MS);
  const ceiling = Math.min(policy.maxDelayMs, policy.initialDelayMs * 2 ** (attempt - 1), LONGEST_WAIT_MS);
  return Math.round(random.fraction() * ceiling);
}
