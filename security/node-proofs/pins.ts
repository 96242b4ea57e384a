import type { Clock } from '../../runtime/clock.ts';
import type { Collection, CollectionSpec, Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { NodeIdentity } from '../api.ts';
import { LastWord } from '../last-word.ts';

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
  const known = new LastWord<NodePin | null>({
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
