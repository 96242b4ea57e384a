import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import {
  Confirmation,
  confirmationOf,
  confirmedKey,
  createTokenVerifier,
  Lifetime,
  MAX_TOKEN_LIFE_MS,
  type SigningParts,
  signCompact,
} from '../signed-token.ts';
import type { AgentTokens, ExecutionTokens } from './api.ts';

/** The same text for an invalid token and an invalid signature, so that it does not reveal which one failed. */
export const INVALID_AGENT_TOKEN = 'The security token or the signature of the envelope is not valid.';

export const EXPIRED_AGENT_TOKEN = 'The security token has expired.';

const TYP = 'agent+jwt';

const id = z.string().min(1).max(256);

const Claims = z
  .object({
    sub: id,
    exec_id: id,
    wid: id,
    tenant_id: id,
    jti: id,
    security_context: id,
    scp: id,
    ...Lifetime,
    cnf: Confirmation,
  })
  .refine(({ security_context, scp }) => security_context === scp);

/** The settings of `spec.seal` for tokens. */
interface SealTokenSettings {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly token_ttl_seconds: number;
}

interface SealTokensParts extends SigningParts {
  readonly clock: Clock;
  readonly settings: SealTokenSettings;
}

/**
 * Tokens of attested agents (H18). A token expires with its execution, at the latest after `token_ttl_seconds` and after an
 * hour, since public keys are not kept for longer.
 */
export function createAgentTokens({ keys, published, clock, settings }: SealTokensParts): AgentTokens {
  const { issuer, audiences, token_ttl_seconds } = settings;
  const rules = {
    typ: TYP,
    issuer,
    audience: audiences,
    invalid: INVALID_AGENT_TOKEN,
    expired: EXPIRED_AGENT_TOKEN,
  };
  return {
    issue(agent) {
      const claims = {
        iss: issuer,
        aud: audiences.length === 1 ? audiences[0] : audiences,
        sub: agent.agentId,
        exec_id: agent.executionId,
        wid: agent.workloadId,
        tenant_id: agent.tenant,
        jti: agent.sessionId,
        security_context: agent.securityContext,
        scp: agent.securityContext,
        ...lifeUntil(agent.expiresAt, clock, token_ttl_seconds * 1_000),
        cnf: confirmationOf(agent.publicKey),
      };
      return signCompact(claims, TYP, { keys, published });
    },
    verify: createTokenVerifier(published, clock, rules, Claims, (claims) => ({
      agentId: claims.sub,
      executionId: claims.exec_id,
      tenant: claims.tenant_id,
      sessionId: claims.jti,
      workloadId: claims.wid,
      securityContext: claims.security_context,
      publicKey: confirmedKey(claims.cnf),
      expiresAt: claims.exp * 1_000,
    })),
  };
}

/** `iat` and `exp`: `expiresAt` rounded down to a second, limited by the maximum lifetime of a token. */
function lifeUntil(
  expiresAt: number,
  clock: Clock,
  ttlMs: number = MAX_TOKEN_LIFE_MS,
): { readonly iat: number; readonly exp: number } {
  const iat = Math.floor(clock.now() / 1_000);
  const longest = iat + Math.floor(Math.min(ttlMs, MAX_TOKEN_LIFE_MS) / 1_000);
  return { iat, exp: Math.min(Math.floor(expiresAt / 1_000), longest) };
}

/** `aud` of the tokens for the dispatch gateway. */
const DISPATCH_AUDIENCE = 'svc-dispatch';

const EXECUTION_TYP = 'dispatch+jwt';

const ExecutionClaims = z.object({ sub: id, tenant_id: id, ...Lifetime });

/**
 * Capability tokens of executions (S5). The bearer may do on the gateway what the execution may do. A token expires with its
 * execution, at the latest after an hour.
 */
export function createExecutionTokens({ keys, published, clock, settings }: SealTokensParts): ExecutionTokens {
  const rules = {
    typ: EXECUTION_TYP,
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
        EXECUTION_TYP,
        { keys, published },
      ),
    verify: createTokenVerifier(published, clock, rules, ExecutionClaims, ({ sub, tenant_id }) => ({
      tenant: tenant_id,
      executionId: sub,
    })),
  };
}
