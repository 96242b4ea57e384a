import { SealNodeEnvelope } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { type NodeIdentity, PROOF_KEY } from '../../../security/api.ts';
import { single } from '../access.ts';
import { decoded, type UnaryInBytes } from '../service.ts';
import { type UnaryCall, unary } from '../unary.ts';
import { NODE_ADDRESS_KEY } from './node-address.ts';
import type { ClusterParts } from './parts.ts';

export interface RequestType<T> {
  decode(input: Uint8Array): T;
}

/** A request whose envelope holds: who sent it, and what the payload says. */
export interface Opened<T> {
  readonly node: NodeIdentity;
  readonly request: T;
}

/** The key of the node's token: what it registered with is pinned. */
export const keyOf = ({ publicKey }: NodeIdentity): string => String(publicKey.export({ type: 'spki', format: 'pem' }));

type EnvelopedCall = Pick<UnaryCall, 'metadata' | 'request' | 'getPath'>;

/**
 * Opens the SealNodeEnvelope that a call carries (decided.md "Messages not shown"): it is verified over the bytes as
 * received before anything in it is read, and then the proof that the call is the one it was made for. Throws `unauthenticated`; `invalid_argument` for a payload that is not the
 * request of the method. An empty payload is a valid message.
 */
export async function openedCall<T>(
  call: EnvelopedCall,
  message: RequestType<T>,
  parts: Pick<ClusterParts, 'openEnvelope' | 'proofs'>,
): Promise<Opened<T>> {
  const envelope = envelopeOf(call.request);
  const { metadata } = call;
  const node = await parts.openEnvelope(single(metadata, 'authorization'), envelope);
  const proven = {
    method: call.getPath(),
    tenant: single(metadata, 'x-tenant-id') ?? '',
    address: single(metadata, NODE_ADDRESS_KEY) ?? '',
    token: envelope.node_security_token,
    payload: envelope.payload,
  };
  await parts.proofs.check(node, proven, single(metadata, PROOF_KEY));
  return { node, request: decoded(message, envelope.payload) };
}

function envelopeOf(request: Buffer): SealNodeEnvelope {
  try {
    return SealNodeEnvelope.decode(request);
  } catch (cause) {
    throw new SvcError('unauthenticated', 'the request is not a SealNodeEnvelope', { cause });
  }
}

/** A method whose request comes in an envelope and whose answer is one message. */
export const sealed = <T>(
  parts: ClusterParts,
  message: RequestType<T>,
  handle: (opened: Opened<T>, call: UnaryCall) => Promise<Uint8Array>,
): UnaryInBytes =>
  unary(parts, async (call) => {
    requireSize(call.request, parts.limits.controlBytes);
    return handle(await openedCall(call, message, parts), call);
  });

/** Throws `payload_too_large` for a request beyond `mostBytes`. */
export function requireSize(request: Buffer, mostBytes: number): void {
  if (request.length > mostBytes) {
    throw new SvcError('payload_too_large', `the request is too large: expected at most ${mostBytes} bytes`);
  }
}
