import type { KeyObject } from 'node:crypto';
import { NodeClusterServiceClient, type SealNodeEnvelope } from '../../proto/gen/svc/cluster/v1/cluster.ts';
import { PROOF_KEY } from '../../security/api.ts';
import { sealNodeEnvelope } from '../../security/node-envelope.ts';
import { makeProof } from '../../security/node-proofs/proof.ts';
import type { Prove } from './known-receiver.ts';

/** Metadata of RegisterNode: where the node's own NodeClusterService is reached. */
export const GRPC_ADDRESS_KEY = 'svc-node-grpc-address';

export interface SealedCall {
  /** A serialized request inside its envelope, as the wire takes it (spec 1, SealNodeEnvelope). */
  readonly envelope: SealNodeEnvelope;
  readonly metadata: Readonly<Record<string, string>>;
  /** Metadata of one attempt: the proof that this call is meant for that receiver, now. */
  readonly prove: Prove;
}

/** A call of this node to another: the envelope of document 1, and what its proof is made of. */
export function sealCall(call: {
  /** Name of the RPC. */
  readonly method: string;
  readonly token: string;
  readonly privateKey: KeyObject;
  readonly payload: Uint8Array;
  readonly metadata?: Readonly<Record<string, string>>;
}): SealedCall {
  const { token, privateKey, metadata = {} } = call;
  const sealed = sealNodeEnvelope(token, privateKey, call.payload);
  const proven = {
    method: `/${NodeClusterServiceClient.serviceName}/${call.method}`,
    tenant: metadata['x-tenant-id'] ?? '',
    address: metadata[GRPC_ADDRESS_KEY] ?? '',
    token,
    payload: call.payload,
  };
  return {
    envelope: { ...sealed, signature: Buffer.from(sealed.signature), payload: Buffer.from(sealed.payload) },
    metadata: { ...metadata, authorization: `Bearer ${token}` },
    prove: async (to) => ({ [PROOF_KEY]: await makeProof(privateKey, proven, to) }),
  };
}
