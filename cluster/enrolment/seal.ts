import { type KeyObject, sign } from 'node:crypto';
import type { SealNodeEnvelope } from '../../proto/gen/svc/cluster/v1/cluster.ts';

/** A request inside its envelope (spec 1, SealNodeEnvelope): the node's Ed25519 signature covers the payload's bytes. */
export function seal(token: string, privateKey: KeyObject, payload: Uint8Array): SealNodeEnvelope {
  return { node_security_token: token, signature: sign(null, payload, privateKey), payload: Buffer.from(payload) };
}
