import type { Clock } from '../../runtime/clock.ts';
import type { NodeTokens } from '../../security/api.ts';

const MARGIN_MS = 120_000;

/**
 * The token of a controller, which signs itself one (decided.md "Identity"): made when it is needed and again 120 s
 * before it ends. Throws what `NodeTokens.issue` throws.
 */
export function createOwnToken(given: {
  readonly tokens: Pick<NodeTokens, 'issue'>;
  readonly nodeId: string;
  readonly role: 'CONTROLLER' | 'WORKER' | 'HYBRID';
  readonly publicKeyPem: string;
  readonly clock: Clock;
}): () => Promise<string> {
  const { tokens, nodeId, role, publicKeyPem, clock } = given;
  let current: Promise<{ readonly token: string; readonly expiresAt: number }> | null = null;
  let goodUntil = 0;
  return async () => {
    if (current === null || clock.now() >= goodUntil) {
      const asked = tokens.issue({ nodeId, role, publicKeyPem });
      current = asked;
      goodUntil = Number.POSITIVE_INFINITY;
      try {
        goodUntil = (await asked).expiresAt - MARGIN_MS;
      } catch (thrown) {
        if (current === asked) current = null;
        throw thrown;
      }
    }
    return (await current).token;
  };
}
