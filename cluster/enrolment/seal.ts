import type { KeyObject } from 'node:crypto';
import type { SealNodeEnvelope } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { sealNodeEnvelope } from '../../security/node-envelope.ts';

/** A serialized request inside its envelope, as the wire takes it (spec 1, SealNodeEnvelope). */
export function seal(token: string, privateKey: KeyObject, payload: Uint8Array): SealNodeEnvelope {
  const sealed = sealNodeEnvelope(token, privateKey, payload);
  return { ...sealed, signature: Buffer.from(sealed.signature), payload: Buffer.from(sealed.payload) };
}
