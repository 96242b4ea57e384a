import { hash } from 'node:crypto';
import type { Clock } from '../../runtime/clock.ts';
import type { AgentClaims, AgentTokens } from './api.ts';

/** How long a verified token needs no second look at its RS256 signature. */
const REMEMBERED_MS = 30_000;
const MAX_REMEMBERED = 1_000;

interface Remembered {
  readonly claims: AgentClaims;
  /** Of the monotonic clock. */
  readonly untilMs: number;
}

/**
 * `verify` that knows a token again by its exact bytes, for 30 s and never past its end: agents send the same one with
 * every call. Whether the session still lives is not asked here but of its actor, so a revocation counts at once.
 */
export function rememberTokens(tokens: Pick<AgentTokens, 'verify'>, clock: Clock): AgentTokens['verify'] {
  const known = new Map<string, Remembered>();
  return async (token) => {
    const key = hash('sha256', token, 'base64');
    const found = known.get(key);
    // Taken out and put in again: the map's order is then that of use.
    known.delete(key);
    if (found !== undefined && clock.monotonic() < found.untilMs && clock.now() < found.claims.expiresAt) {
      known.set(key, found);
      return found.claims;
    }
    const claims = await tokens.verify(token);
    known.set(key, { claims, untilMs: clock.monotonic() + REMEMBERED_MS });
    if (known.size > MAX_REMEMBERED) forgetOldest(known);
    return claims;
  };
}

function forgetOldest(known: Map<string, Remembered>): void {
  for (const key of known.keys()) {
    known.delete(key);
    return;
  }
}
