import { verify } from 'node:crypto';
import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { NodeRoleName } from '../node-peer/state.ts';

/** Time in which a challenge can be answered (G18). */
export const CHALLENGE_TTL_MS = 300_000;

const OVER = { status: 'over' } as const;

export const challengeAddress = (challengeId: string): Address =>
  addressOf('node-challenge', SYSTEM_TENANT, challengeId);

/**
 * One attestation in progress: a nonce that can be answered once, in time (G17, G18). Anyone may begin one, so it leaves no
 * data behind: an answered or expired challenge is unknown.
 */
export const nodeChallengeActor = ({ ttlMs = CHALLENGE_TTL_MS }: { readonly ttlMs?: number } = {}) =>
  defineActor({
    kind: 'node-challenge',
    version: 1,
    pool: 'system',
    state: NodeChallengeState,
    initial: () => ({ status: 'new' as const }),
    messages: {
      /** The nonce comes from the API's cryptographic source, because ids of a turn are predictable. */
      Issue: Claim,
      Answer: z.object({ signature_base64: z.string().max(100) }),
      ChallengeExpired: z.object({}),
    },
    events: {},
    creates: ['Issue'],
    on: {
      Issue(state, claim, turn) {
        if (state.status !== 'new') return turn.refuse('conflict', 'the challenge exists');
        turn.after('expiry', ttlMs, 'ChallengeExpired', {});
        return { status: 'open' as const, claim, expires_at: turn.now + ttlMs };
      },
      /** A wrong signature uses the challenge up, so the turn commits. */
      Answer(state, { signature_base64 }, turn) {
        // Timers may be late while a node is being replaced, so the turn's time decides.
        if (state.status !== 'open')
          return turn.refuse('unauthenticated', 'the challenge was already used: request another one');
        const inTime = turn.now < state.expires_at;
        turn.reply({ proven: inTime && isSigned(state.claim, signature_base64) ? provenBy(state.claim) : null });
        return OVER;
      },
      ChallengeExpired: () => OVER,
    },
    done: ({ status }) => status === 'over',
    keepsArchive: false,
  });

const isSigned = ({ nonce, public_key_pem }: Claim, signatureBase64: string): boolean =>
  verify(null, Buffer.from(nonce, 'utf8'), public_key_pem, Buffer.from(signatureBase64, 'base64'));

const provenBy = ({ node_id, public_key_pem, role }: Claim) => ({ node_id, public_key_pem, role });

/** Claims of the caller, unproven until it shows that it holds the key. */
const Claim = z.object({
  node_id: z.string().min(1).max(128),
  /** Ed25519, SPKI. */
  public_key_pem: z.string().min(1).max(1_000),
  role: NodeRoleName,
  /** 32 random bytes as base64url; the caller signs the UTF-8 bytes of this text (G18). */
  nonce: z.string().length(43),
});

type Claim = z.output<typeof Claim>;

const NodeChallengeState = z.discriminatedUnion('status', [
  z.object({ status: z.literal('new') }),
  /** `expires_at` in Unix ms. */
  z.object({ status: z.literal('open'), claim: Claim, expires_at: z.number() }),
  z.object({ status: z.literal('over') }),
]);

/** The node that a correct answer proved; null for a wrong one. */
export const ChallengeAnswer = z.object({
  proven: Claim.pick({ node_id: true, public_key_pem: true, role: true }).nullable(),
});
