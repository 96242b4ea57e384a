import { createHash, hash, verify } from 'node:crypto';
import { z } from 'zod';
import { HEAD_TYPE } from '../../manifests/audit/record.ts';
import { jose } from '../../manifests/late-libraries.ts';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import { MAX_TOKEN_LENGTH, type SigningParts, signCompact } from '../signed-token.ts';
import { decodeBase64 } from './agent-key.ts';
import { EXPIRED_AGENT_TOKEN, INVALID_AGENT_TOKEN } from './agent-tokens.ts';
import type {
  AgentClaims,
  AgentTokens,
  AuditSigner,
  Refusal,
  RefusedEnvelope,
  SealEnvelope,
  SealEnvelopes,
  VerifiedCall,
} from './api.ts';
import { parseCall } from './strict-json.ts';

const SEAL_PROTOCOL = 'seal/v1';

const FRESH_MS = 30_000;

const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;

const SIGNATURE_BYTES = 64;

/** RFC 3339 in UTC, to the nanosecond at most. */
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|\+00:00)$/;

/** Error text of each refusal. Token and signature have the same text, so that it does not reveal which one failed. */
const MESSAGES: Readonly<Record<Refusal, string>> = {
  envelope_malformed:
    'The envelope is malformed: expected protocol, security_token, signature (base64 of 64 bytes), payload (1 byte to 16 MiB) and timestamp (RFC 3339, UTC).',
  protocol_unknown: `The protocol is unknown: expected ${SEAL_PROTOCOL}.`,
  payload_malformed:
    'The payload is malformed: expected a JSON-RPC 2.0 request with id, method tools/call and params.name.',
  token_invalid: INVALID_AGENT_TOKEN,
  token_expired: EXPIRED_AGENT_TOKEN,
  signature_invalid: INVALID_AGENT_TOKEN,
  timestamp_stale: 'The timestamp differs from the clock of this node by more than 30 s.',
};

interface SealEnvelopesParts {
  readonly tokens: Pick<AgentTokens, 'verify'>;
  readonly clock: Clock;
}

/** Verifies envelopes, for REST and gRPC (H13). */
export function createSealEnvelopes({ tokens, clock }: SealEnvelopesParts): SealEnvelopes {
  const verifyToken = rememberTokens(tokens, clock);
  return {
    async open(envelope) {
      const opened = await outcomeOf(envelope, verifyToken, clock.now());
      if ('claims' in opened) return { ok: true, call: { ...opened, envelopeHash: envelopeHash(envelope) } };
      return refusedOf(envelope, opened);
    },
    async checkToken(texts) {
      const envelope = { ...texts, payload: new Uint8Array() };
      if (!hasTokenLength(texts.security_token)) return refusedOf(envelope, { refusal: 'envelope_malformed' });
      const claims = await claimsOf(texts.security_token, verifyToken);
      return typeof claims === 'string' ? refusedOf(envelope, { refusal: claims }) : null;
    },
  };
}

type Refused = { readonly refusal: Refusal; readonly rpcId?: string | number | null };

type Outcome = Omit<VerifiedCall, 'envelopeHash'> | Refused;

async function outcomeOf(envelope: SealEnvelope, verifyToken: AgentTokens['verify'], now: number): Promise<Outcome> {
  const signature = wellFormedSignature(envelope);
  if (envelope.protocol !== SEAL_PROTOCOL) return { refusal: 'protocol_unknown' };
  if (signature === null) return { refusal: 'envelope_malformed' };
  const claims = await claimsOf(envelope.security_token, verifyToken);
  if (typeof claims === 'string') return { refusal: claims };
  if (!verify(null, envelope.payload, claims.publicKey, signature)) return { refusal: 'signature_invalid' };
  const parsed = parseCall(envelope.payload);
  const sentAt = Date.parse(envelope.timestamp);
  const isFresh = Math.abs(now - sentAt) <= FRESH_MS;
  if (!isFresh) return { refusal: 'timestamp_stale', rpcId: parsed.ok ? parsed.rpc.id : parsed.id };
  if (!parsed.ok) return { refusal: 'payload_malformed', rpcId: parsed.id };
  return { claims, rpc: parsed.rpc, payloadHash: hash('sha256', envelope.payload, 'hex') };
}

const hasTokenLength = ({ length }: string): boolean => length > 0 && length <= MAX_TOKEN_LENGTH;

/** The bytes of the signature; null when a field of the envelope is malformed. */
function wellFormedSignature({ security_token, signature, payload, timestamp }: SealEnvelope): Buffer | null {
  const isSized =
    hasTokenLength(security_token) &&
    signature.length <= 88 &&
    payload.length > 0 &&
    payload.length <= MAX_PAYLOAD_BYTES;
  if (!isSized || timestamp.length > 40 || !TIMESTAMP.test(timestamp) || Number.isNaN(Date.parse(timestamp))) {
    return null;
  }
  const bytes = decodeBase64(signature);
  return bytes?.length === SIGNATURE_BYTES ? bytes : null;
}

async function claimsOf(
  token: string,
  verifyToken: AgentTokens['verify'],
): Promise<AgentClaims | 'token_expired' | 'token_invalid'> {
  try {
    return await verifyToken(token);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'unauthenticated') throw error;
    return error.message === EXPIRED_AGENT_TOKEN ? 'token_expired' : 'token_invalid';
  }
}

function refusedOf(envelope: SealEnvelope, { refusal, rpcId = null }: Refused): RefusedEnvelope {
  return {
    ok: false,
    refusal,
    message: MESSAGES[refusal],
    envelopeHash: envelopeHash(envelope),
    rpcId,
    claimed: claimedSession(envelope.security_token),
  };
}

const Claimed = z.object({ tenant_id: z.string().min(1).max(63), jti: z.uuid() });

/**
 * The session in whose audit chain the attempt is recorded: the one that the token claims, whether or not the claim is true.
 */
function claimedSession(token: string): { readonly tenant: string; readonly sessionId: string } | null {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  try {
    const { data } = Claimed.safeParse(jose().decodeJwt(token));
    return data === undefined ? null : { tenant: data.tenant_id, sessionId: data.jti };
  } catch (error) {
    if (error instanceof jose().errors.JOSEError) return null;
    throw error;
  }
}

/** A verified token is cached for this long. */
const REMEMBERED_MS = 30_000;

const MAX_REMEMBERED = 1_000;

interface Remembered {
  readonly claims: AgentClaims;
  /** Expiry in the cache, ms of the monotonic clock. */
  readonly untilMs: number;
}

/**
 * Caches `verify` by the exact bytes of a token, for 30 s and never past its expiry, since agents send the same token with
 * every call. The session's actor checks separately whether the session is still open, so a revocation takes effect at once.
 */
function rememberTokens(tokens: Pick<AgentTokens, 'verify'>, clock: Clock): AgentTokens['verify'] {
  const known = new Map<string, Remembered>();
  return async (token) => {
    const key = hash('sha256', token, 'base64');
    const found = known.get(key);
    // Inserted again, so that the map is ordered by use.
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

/**
 * SHA-256, hex, of an envelope as received: the payload bytes, then token, signature, timestamp and protocol in UTF-8. Each
 * part follows its length in eight bytes (big endian), so that two different envelopes never hash the same bytes
 * (docs/reference/seal.md).
 */
function envelopeHash(envelope: SealEnvelope): string {
  const hash = createHash('sha256');
  const { payload, security_token, signature, timestamp, protocol } = envelope;
  for (const part of [payload, ...[security_token, signature, timestamp, protocol].map((text) => Buffer.from(text))]) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(part.length));
    hash.update(length).update(part);
  }
  return hash.digest('hex');
}

/**
 * Signs the head of an audit chain (manifests/audit). The node's JWKS contains the public key for at least an hour after its
 * last use; exports that are kept for longer need a copy of the JWKS.
 */
export function createAuditSigner({ keys, published, clock }: SigningParts & { readonly clock: Clock }): AuditSigner {
  return {
    sign: ({ session_id, tenant, sequence, hash }) =>
      signCompact({ session_id, tenant, sequence, hash, signed_at: new Date(clock.now()).toISOString() }, HEAD_TYPE, {
        keys,
        published,
      }),
  };
}
