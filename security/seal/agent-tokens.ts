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
import type { AgentTokens } from './api.ts';

/** One text for a bad token and a bad signature: a stranger learns nothing about which it was. */
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

/** `spec.seal` of the node configuration, as far as tokens go. */
export interface SealTokenSettings {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly token_ttl_seconds: number;
}

export interface SealTokensParts extends SigningParts {
  readonly clock: Clock;
  readonly settings: SealTokenSettings;
}

/**
 * Tokens of attested agents (original-facts 5.2, decided.md "Identity"). One ends with the execution, at the latest after
 * `token_ttl_seconds` and after an hour: public keys are not kept longer than that.
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

/** `iat` and `exp`: to the second before `expiresAt`, and no longer than a token may live. */
export function lifeUntil(
  expiresAt: number,
  clock: Clock,
  ttlMs: number = MAX_TOKEN_LIFE_MS,
): { readonly iat: number; readonly exp: number } {
  const iat = Math.floor(clock.now() / 1_000);
  const longest = iat + Math.floor(Math.min(ttlMs, MAX_TOKEN_LIFE_MS) / 1_000);
  return { iat, exp: Math.min(Math.floor(expiresAt / 1_000), longest) };
}
