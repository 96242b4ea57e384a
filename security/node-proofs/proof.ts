import { hash, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { jose } from '../../manifests/late-libraries.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { NodeIdentity } from '../node-tokens.ts';
import { StaleIfErrorCache } from '../ttl-cache.ts';

/** Metadata of a call between nodes that carries its proof. */
export const PROOF_KEY = 'svc-proof';

/** Header `typ`, so that a token is never accepted as a proof, or a proof as a token. */
const TYPE = 'svc-proof';

const NONCE_BYTES = 16;

const MAX_PROOF_CHARS = 4_096;

/** A call between nodes, as sent or as received. */
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

/** The intended receiver of a call. Empty fields when the receiver has not identified itself yet. */
export interface Receiver {
  readonly nodeId: string;
  /** New at each start of the receiver, so that proofs recorded before a restart are invalid after it. */
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

const digestOf = (data: string | Uint8Array): string => hash('sha256', data, 'base64url');

/** The claims of a proof that describe the call. */
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
  return new (jose().CompactSign)(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'EdDSA', typ: TYPE })
    .sign(privateKey);
}

/** The claims of a proof that the key signed; null for everything else. */
export async function readProof(text: string, publicKey: KeyObject): Promise<ProofClaims | null> {
  if (text.length > MAX_PROOF_CHARS) return null;
  try {
    const { payload, protectedHeader } = await jose().compactVerify(text, publicKey, {
      algorithms: ['EdDSA', 'Ed25519'],
    });
    if (protectedHeader.typ !== TYPE) return null;
    return ProofClaims.safeParse(JSON.parse(Buffer.from(payload).toString('utf8'))).data ?? null;
  } catch (error) {
    if (error instanceof jose().errors.JOSEError || error instanceof SyntaxError || error instanceof TypeError)
      return null;
    throw error;
  }
}

/** A node that has sent a proof, by its id. Kept after the node deregisters. */
interface NodePin extends StoredDocument {
  /** `x` of the Ed25519 key that signed. */
  readonly key: string;
  /** Expiry of the token of that call, Unix ms: tokens of an earlier key expire earlier. */
  readonly token_expires_at: number;
  readonly pinned_at: string;
}

const NODE_PINS: CollectionSpec = { name: 'node_pins', unique: [], indexes: [] };

const MOST_REMEMBERED = 10_000;

const MAX_ATTEMPTS = 16;

export interface Pins {
  /** Whether the node has ever sent a proof, to any node of the fleet. Throws `unavailable`. */
  isPinned(nodeId: string): Promise<boolean>;
  /** Durable when it returns. False when another key is pinned with a later token. Throws `unavailable`. */
  pin(node: NodeIdentity): Promise<boolean>;
  /** Called when an operator removes the node. */
  forget(nodeId: string): Promise<void>;
}

/**
 * Nodes that send proofs, in the documents that all controllers share. Read at each call, since another controller may have
 * changed the pin; while the documents are unreachable the last known value is used.
 */
export async function openPins(parts: { readonly documents: Documents; readonly clock: Clock }): Promise<Pins> {
  const { documents, clock } = parts;
  const pins = await documents.collection<NodePin>(NODE_PINS);
  const known = new StaleIfErrorCache<NodePin | null>({
    read: (nodeId) => pins.get(SYSTEM_TENANT, nodeId),
    clock,
    most: MOST_REMEMBERED,
  });
  return {
    isPinned: async (nodeId) => (await known.read(nodeId)) !== null,

    async pin(node) {
      const key = keyOf(node);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const pin = await known.read(node.nodeId);
        if (pin?.key === key) return true;
        // Another key replaces the pinned one only with a newer token.
        if (pin !== null && node.expiresAt <= pin.token_expires_at) return false;
        known.forget(node.nodeId);
        if (await written(pins, pin, node, { key, now: clock.now() })) return true;
      }
      throw new SvcError('unavailable', 'the key of the node is being pinned by other calls; try again', {
        retryAfterMs: 1_000,
      });
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
    tenant: SYSTEM_TENANT,
    id: nodeId,
    version: (before?.version ?? 0) + 1,
    key,
    token_expires_at: expiresAt,
    pinned_at: new Date(now).toISOString(),
  };
  return before === null ? pins.insert(pin) : pins.replace(pin, before.version);
}

const keyOf = ({ publicKey }: NodeIdentity): string => publicKey.export({ format: 'jwk' }).x ?? '';
