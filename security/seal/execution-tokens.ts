import { z } from 'zod';
import { createTokenVerifier, Lifetime, signCompact } from '../signed-token.ts';
import { lifeUntil, type SealTokensParts } from './agent-tokens.ts';
import type { ExecutionTokens } from './api.ts';

/** `aud` of the tokens that open the dispatch gateway. */
const DISPATCH_AUDIENCE = 'svc-dispatch';

const TYP = 'dispatch+jwt';
const id = z.string().min(1).max(256);
const Claims = z.object({ sub: id, tenant_id: id, ...Lifetime });

/**
 * Capability tokens of executions (design S5): whoever holds one may do on the gateway what that execution may, and nothing
 * else. It ends when the execution must, at the latest after an hour.
 */
export function createExecutionTokens({ keys, published, clock, settings }: SealTokensParts): ExecutionTokens {
  const rules = {
    typ: TYP,
    issuer: settings.issuer,
    audience: DISPATCH_AUDIENCE,
    invalid: 'The capability token of the execution is not valid.',
    expired: 'The capability token of the execution has expired.',
  };
  return {
    issue: ({ tenant, executionId, expiresAt }) =>
      signCompact(
        {
          iss: settings.issuer,
          aud: DISPATCH_AUDIENCE,
          sub: executionId,
          tenant_id: tenant,
          ...lifeUntil(expiresAt, clock),
        },
        TYP,
        { keys, published },
      ),
    verify: createTokenVerifier(published, clock, rules, Claims, ({ sub, tenant_id }) => ({
      tenant: tenant_id,
      executionId: sub,
    })),
  };
}
