import { errors } from 'jose';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { KeySet } from '../key-set.ts';
import { type FindKey, KEY_RETENTION_MS } from './published-keys.ts';

export interface RemoteKeysOptions {
  /** `/.well-known/jwks.json` of a controller. */
  readonly jwksUri: string;
  readonly clock: Clock;
}

/** Keys of the controllers for a node outside their stores, which verifies and never issues: their JWKS over HTTP. */
export function createRemoteKeys({ jwksUri, clock }: RemoteKeysOptions): FindKey & { close(): Promise<void> } {
  const keys = new KeySet(
    {
      jwksUri,
      cacheTtlMs: 60_000,
      staleMs: KEY_RETENTION_MS,
      cooldownMs: 1_000,
      connectTimeoutMs: 5_000,
      requestTimeoutMs: 8_000,
    },
    clock,
  );
  return {
    close: () => keys.close(),
    async find(kid) {
      try {
        return await keys.keyFor({ alg: 'RS256', kid });
      } catch (error) {
        if (error instanceof errors.JWKSNoMatchingKey) return null;
        if (!(error instanceof SvcError) || error.code !== 'unavailable') throw error;
        throw new SvcError('unavailable', 'The keys of the controllers cannot be read now.', {
          cause: error.cause,
          retryAfterMs: error.retryAfterMs ?? 1_000,
        });
      }
    },
  };
}
