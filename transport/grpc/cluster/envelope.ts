import { SealNodeEnvelope } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import {
  type NodeAdmission,
  type NodeEnvelope,
  type NodeIdentity,
  type NodeProofs,
  type NodeTokens,
  PROOF_KEY,
} from '../../../security/api.ts';
import type { ExecutionApi } from '../../../usecases/executions.ts';
import type { NodePeerApi } from '../../../usecases/node-api.ts';
import type { Admission } from '../../../usecases/starts/admission.ts';
import type { Health } from '../../health.ts';
import type { OpenStreams } from '../../open-streams.ts';
import type { ServerTls } from '../../tls.ts';
import { single } from '../access.ts';
import type { UnaryCall } from '../call-context.ts';
import { GRPC_LIMITS, type GrpcLimits } from '../limits.ts';
import type { GrpcLogger } from '../parts.ts';
import { decoded, type UnaryInBytes, unary } from '../service.ts';
import { NODE_ADDRESS_KEY } from './wire-names.ts';

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
 * Opens the SealNodeEnvelope that a call carries (G21): it is verified over the bytes as
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

/** What one node may cost another over the cluster port. Every number is a setting. */
export interface ClusterLimits extends GrpcLimits {
  /** AttestNode and ChallengeNode under way at once, of all nodes; further ones are answered RESOURCE_EXHAUSTED. */
  readonly attestations: number;
  /** Largest request of a caller without a token, bytes. */
  readonly attestationBytes: number;
  /** Largest request of a node but ForwardExecution, whose manifest and input have `messageBytes`. */
  readonly controlBytes: number;
}

export const CLUSTER_LIMITS: ClusterLimits = {
  ...GRPC_LIMITS,
  descriptorShare: 0.05,
  attestations: 8_192,
  attestationBytes: 16 * 1024,
  controlBytes: 4 * 1024 * 1024,
};

/** Outcome of a pushed configuration; `reason` is shown to the controller that pushed it. */
export type Applied = { readonly accepted: true } | { readonly accepted: false; readonly reason: string };

/** What a node that runs executions offers to controllers. */
export interface ClusterWorker {
  readonly executions: ExecutionApi;
  /** Takes over the controller-managed sections, wholly or not at all; an older version than the one in force is not taken. */
  applyConfig(configYaml: string): Promise<Applied>;
}

/** What the server of the cluster port translates into calls of. */
export interface ClusterServerParts {
  readonly peers: NodePeerApi;
  readonly tokens: NodeTokens;
  /** Verifies token and signature of an envelope against the metadata `authorization`; throws `unauthenticated`. */
  openEnvelope(authorization: string | undefined, envelope: NodeEnvelope): Promise<NodeIdentity>;
  /** Checks what the envelope does not say: for which call, which node and which time it was made. */
  readonly proofs: NodeProofs;
  /** Null on a pure controller: ForwardExecution and PushConfig answer FAILED_PRECONDITION. */
  readonly worker: ClusterWorker | null;
  /** False on a pure worker: what only controllers do answers FAILED_PRECONDITION. */
  readonly controller: boolean;
  /** Who may be attested, and with what it may register. */
  readonly joins: Pick<NodeAdmission, 'admit' | 'requireScope'>;
  /** With it the port speaks TLS, and its authority says which clients it takes. */
  readonly tls: ServerTls | null;
  readonly health: Health;
  readonly logger: GrpcLogger;
  /** Without it no execution that is forwarded here is refused for its amount. */
  readonly admission?: Pick<Admission, 'enter'>;
  /** Whether an address is that of a container of agents, to be refused; absent: none is. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<ClusterLimits>;
}

/** The same with all defaults filled in, as methods get it. */
export interface ClusterParts extends ClusterServerParts {
  readonly limits: ClusterLimits;
  readonly streams: OpenStreams;
}
