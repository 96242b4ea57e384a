import type { KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import { z } from 'zod';
import type { Clock } from '../runtime/clock.ts';
import { invalidField } from '../runtime/errors.ts';
import { NODE_TOKEN_TTL_MS } from './keys/published-keys.ts';
import { parsePublicKeyPem } from './node-key.ts';
import {
  Confirmation,
  confirmationOf,
  confirmedKey,
  createTokenVerifier,
  Lifetime,
  type SigningParts,
  signCompact,
} from './signed-token.ts';

/** The node that a node token was issued to (G20). */
export interface NodeIdentity {
  readonly nodeId: string;
  readonly role: 'CONTROLLER' | 'WORKER' | 'HYBRID';
  /** `cnf.jwk`: the node's Ed25519 key. */
  readonly publicKey: KeyObject;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** NodeSecurityToken (G20): an RS256 JWT, valid for one hour, with claims sub, role, iat, exp and `cnf.jwk`. */
export interface NodeTokens {
  issue(node: {
    readonly nodeId: string;
    readonly role: NodeIdentity['role'];
    readonly publicKeyPem: string;
  }): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /** Throws `unauthenticated` for an invalid or expired token, `unavailable` when the keys cannot be read. */
  verify(token: string): Promise<NodeIdentity>;
  /** JWKS of all controllers (`/.well-known/jwks.json`). */
  keySet(): Promise<{ readonly keys: readonly JWK[] }>;
}

/** `iss` and `aud` of node tokens, so that no other kind of token is accepted as one. */
export const NODE_TOKEN_ISSUER = 'svc-controller';
export const NODE_TOKEN_AUDIENCE = 'svc-cluster';

export const INVALID_NODE_TOKEN = 'The node token or the signature of its envelope is not valid.';
const EXPIRED_NODE_TOKEN = 'The node token has expired.';

const NodeId = z
  .string()
  .min(1)
  .max(256)
  .regex(/^\P{Cc}+$/u);
const Role = z.enum(['CONTROLLER', 'WORKER', 'HYBRID']);
const Claims = z.object({ sub: NodeId, role: Role, ...Lifetime, cnf: Confirmation });

const RULES = {
  issuer: NODE_TOKEN_ISSUER,
  audience: NODE_TOKEN_AUDIENCE,
  invalid: INVALID_NODE_TOKEN,
  expired: EXPIRED_NODE_TOKEN,
};

interface NodeTokensParts extends SigningParts {
  readonly clock: Clock;
}

/**
 * Node tokens of a controller (G20). A key is published before its first token is issued, so that all other controllers can
 * verify it. A node that only verifies tokens creates no key.
 */
export function createNodeTokens(parts: NodeTokensParts): NodeTokens {
  return {
    issue: (node) => issue(node, parts),
    verify: createTokenVerifier(parts.published, parts.clock, RULES, Claims, ({ sub, role, exp, cnf }) => ({
      nodeId: sub,
      role,
      publicKey: confirmedKey(cnf),
      expiresAt: exp * 1_000,
    })),
    keySet: async () => ({ keys: await parts.published.all() }),
  };
}

async function issue(
  node: Parameters<NodeTokens['issue']>[0],
  parts: NodeTokensParts,
): Promise<{ readonly token: string; readonly expiresAt: number }> {
  const publicKey = parsePublicKeyPem(node.publicKeyPem);
  if (!NodeId.safeParse(node.nodeId).success) {
    throw invalidField('node_id', 'expected 1 to 256 characters, none of them a control character');
  }
  const iat = Math.floor(parts.clock.now() / 1_000);
  const exp = iat + NODE_TOKEN_TTL_MS / 1_000;
  const claims = {
    iss: NODE_TOKEN_ISSUER,
    aud: NODE_TOKEN_AUDIENCE,
    sub: node.nodeId,
    role: node.role,
    iat,
    exp,
    cnf: confirmationOf(publicKey),
  };
  return { token: await signCompact(claims, 'JWT', parts), expiresAt: exp * 1_000 };
}
