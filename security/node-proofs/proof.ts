import { createHash, type KeyObject, randomBytes } from 'node:crypto';
import { CompactSign, compactVerify, errors } from 'jose';
import { z } from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { NodeIdentity } from '../node-tokens.ts';
import { StaleIfErrorCache } from '../ttl-cache.ts';

/** Metadata of a call between nodes that carries its proof. */
export const PROOF_KEY = 'svc-proof';

/** Header `typ`: no token of ours passes for a proof, and no proof for a token. */
const TYPE = 'svc-proof';

const NONCE_BYTES = 16;

const MAX_PROOF_CHARS = 4_096;

/** A call between nodes as its sender made it, or as it arrived. */
export interface ProvenCall {
  /** `/package.Service/Method`. */
  readonly method: string;
  /** Metadata `x-tenant-id`; empty without it. */
  readonly tenant: string;
  /** Metadata `svc-node-grpc-address`; empty without it. */
  readonly address: string;
  /** The node token of the call. */
  readonly token: string;
  /** The payload of its envelope. */
  readonly payload: Uint8Array;
}

/** Who is meant to take a call. All empty for a receiver that has not named itself yet. */
export interface Receiver {
  readonly nodeId: string;
  /** Made anew at each start of the receiver, so that what was recorded before a restart is good for nothing after it. */
  readonly life: string;
}

const digest = z.string().length(43);

export const ProofClaims = z.object({
  method: z.string().max(200),
  receiver: z.string().max(256),
  life: z.string().max(64),
  /** Unix ms, by the receiver's clock as far as the sender knows it. */
  at: z.number().int().min(0),
  nonce: z.string().min(16).max(64),
  tenant: z.string().max(256),
  address: z.string().max(400),
  token: digest,
  payload: digest,
});

export type ProofClaims = z.output<typeof ProofClaims>;

const digestOf = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('base64url');

/** What a proof says of a call; `at` and `nonce` are its own. */
export const claimsOf = (
  call: ProvenCall,
): Pick<ProofClaims, 'method' | 'tenant' | 'address' | 'token' | 'payload'> => ({
  method: call.method,
  tenant: call.tenant,
  address: call.address,
  token: digestOf(call.token),
  payload: digestOf(call.payload),
});

/** A proof for one call to one receiver: a compact JWS by the node's Ed25519 key. */
export async function makeProof(
  privateKey: KeyObject,
  call: ProvenCall,
  to: Receiver & { readonly at: number },
): Promise<string> {
  const claims: ProofClaims = {
    ...claimsOf(call),
    receiver: to.nodeId,
    life: to.life,
    at: Math.max(0, Math.trunc(to.at)),
    nonce: randomBytes(NONCE_BYTES).toString('base64url'),
  };
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'EdDSA', typ: TYPE })
    .sign(privateKey);
}

/** What a proof says, when the key signed it; null for all else. */
export async function readProof(text: string, publicKey: KeyObject): Promise<ProofClaims | null> {
  if (text.length > MAX_PROOF_CHARS) return null;
  try {
    const { payload, protectedHeader } = await compactVerify(text, publicKey, { algorithms: ['EdDSA', 'Ed25519'] });
    if (protectedHeader.typ !== TYPE) return null;
    return ProofClaims.safeParse(JSON.parse(Buffer.from(payload).toString('utf8'))).data ?? null;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}

/** A node that has sent a proof, by its id. It outlives the node's registration. */
interface NodePin extends StoredDocument {
  /** `x` of the Ed25519 key that signed. */
  readonly key: string;
  /** End of the token it came with, Unix ms: tokens of an earlier key end earlier. */
  readonly token_expires_at: number;
  readonly pinned_at: string;
}

const NODE_PINS: CollectionSpec = { name: 'node_pins', unique: [], indexes: [] };

const MOST_REMEMBERED = 10_000;

const MAX_ATTEMPTS = 16;

export interface Pins {
  /** Whether the node has ever sent a proof, to any node of the fleet. Throws `unavailable`. */
  isPinned(nodeId: string): Promise<boolean>;
  /** Written before it answers. False when another key is pinned, and with a later token. Throws `unavailable`. */
  pin(node: NodeIdentity): Promise<boolean>;
  /** An operator removed the node. */
  forget(nodeId: string): Promise<void>;
}

/**
 * Which nodes send proofs, in the documents that all controllers share. It is read with each call, since another controller
 * may have pinned or forgotten the node meanwhile; while the documents are away what was read last counts.
 */
export async function openPins(parts: { readonly documents: Documents; readonly clock: Clock }): Promise<Pins> {
  const { documents, clock } = parts;
  const pins = await documents.collection<NodePin>(NODE_PINS);
  const known = new StaleIfErrorCache<NodePin | null>({
    read: (nodeId) => pins.get(SYSTEM_TENANT, nodeId),
    ...{ clock, most: MOST_REMEMBERED },
  });
  return {
    isPinned: async (nodeId) => (await known.read(nodeId)) !== null,

    async pin(node) {
      const key = keyOf(node);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const pin = await known.read(node.nodeId);
        if (pin?.key === key) return true;
        // Another key is the node's own only when its token is the newer one.
        if (pin !== null && node.expiresAt <= pin.token_expires_at) return false;
        known.forget(node.nodeId);
        if (await written(pins, pin, node, { key, now: clock.now() })) return true;
      }
      throw new SvcError('unavailable', 'the key of the node is being pinned by others', { retryAfterMs: 1_000 });
    },

    async forget(nodeId) {
      await pins.delete(SYSTEM_TENANT, nodeId);
      known.forget(nodeId);
    },
  };
}

function written(
  pins: Collection<NodePin>,
  before: NodePin | null,
  { nodeId, expiresAt }: NodeIdentity,
  { key, now }: { readonly key: string; readonly now: number },
): Promise<boolean> {
  const pin: NodePin = {
    ...{ tenant: SYSTEM_TENANT, id: nodeId, version: (before?.version ?? 0) + 1 },
    ...{ key, token_expires_at: expiresAt, pinned_at: new Date(now).toISOString() },
  };
  return before === null ? pins.insert(pin) : pins.replace(pin, before.version);
}

const keyOf = ({ publicKey }: NodeIdentity): string => publicKey.export({ format: 'jwk' }).x ?? '';
