import { SvcError } from '../../runtime/errors.ts';
import type { Target } from './targets.ts';

/**
 * Why one call of a model did not bring an answer:
 * `busy` nobody answered or it said come back (429, 5xx, no connection, silence): tried again, then the fallback;
 * `broken` the answer stopped in the middle: tried again, then the fallback;
 * `nonsense` the answer could not be understood: tried again, then the fallback;
 * `refused` the request itself is wrong (400, 401, 403, 404): final, a fallback would hide it.
 */
export type FailureKind = 'busy' | 'broken' | 'nonsense' | 'refused';

/**
 * A failed call. The text is public and carries no cause: errors of the AI SDK hold request bodies, headers and
 * response bodies, and a provider may echo the key in any of them (design S3).
 */
export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, message: string, retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface FailedTarget {
  readonly target: Target;
  readonly failure: ModelFailure;
}

/**
 * What the effect throws when no target answered: `model_unavailable` (tried again by the effect's policy) as long as
 * one of them may answer later, else `model_failed`.
 */
export function describeFailures(failed: readonly FailedTarget[]): SvcError {
  const text = failed.map(({ target, failure }) => `${nameOf(target)}: ${failure.message}`).join('; then ');
  const failures = failed.map((entry) => entry.failure);
  const mayAnswerLater = failures.some((failure) => failure.kind === 'busy' || failure.kind === 'broken');
  if (!mayAnswerLater) return new SvcError('model_failed', text);
  const waits = failures.flatMap((failure) => failure.retryAfterMs ?? []);
  return new SvcError('model_unavailable', text, waits.length === 0 ? {} : { retryAfterMs: Math.min(...waits) });
}

export const nameOf = ({ provider, model }: Target): string => `Provider "${provider.name}", model "${model.model}"`;
