import { z } from 'zod';
import { NodeRoleName } from '../node-peer/capabilities.ts';

/** What a stranger claims to be, until it proves to hold the key. */
export const Claim = z.object({
  node_id: z.string().min(1).max(128),
  /** Ed25519, SPKI. */
  public_key_pem: z.string().min(1).max(1_000),
  role: NodeRoleName,
  /** 32 random bytes as base64url; the UTF-8 bytes of this text are what is signed (decided.md "Nodes"). */
  nonce: z.string().length(43),
});
export type Claim = z.output<typeof Claim>;

export const NodeChallengeState = z.discriminatedUnion('status', [
  z.object({ status: z.literal('new') }),
  /** `expires_at` in Unix ms. */
  z.object({ status: z.literal('open'), claim: Claim, expires_at: z.number() }),
  z.object({ status: z.literal('over') }),
]);
export type NodeChallengeState = z.output<typeof NodeChallengeState>;

/** Whom a right answer proved; null for a wrong one. */
export const ChallengeAnswer = z.object({
  proven: Claim.pick({ node_id: true, public_key_pem: true, role: true }).nullable(),
});
