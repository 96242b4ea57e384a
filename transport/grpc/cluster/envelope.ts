import type { BinaryReader } from '@bufbuild/protobuf/wire';
import { SealNodeEnvelope } from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import {
  type NodeAdmission,
  type NodeEnvelope,
  type NodeIdentity,
  type NodeProofs,
  type NodeTokens,
  type OperationAudit,
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
  decode(input: BinaryReader): T;
}

/** A verified request: the node that sent it and its payload. */
export interface Opened<T> {
  readonly node: NodeIdentity;
  readonly request: T;
}

/** The public key of the node's token as PEM. Registration pins this key. */
export const keyOf = ({ publicKey }: NodeIdentity): string => String(publicKey.export({ type: 'spki', format: 'pem' }));

type EnvelopedCall = Pick<UnaryCall, 'metadata' | 'request' | 'getPath'>;

/**
 * Opens the SealNodeEnvelope of a call (G21). Verifies it over the received bytes before reading any field, then checks
 * the proof that it was made for this call. Throws `unauthenticated`, and `invalid_argument` for a payload that is not
 * the method's request. An empty payload is a valid message.
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
    return decoded(SealNodeEnvelope, request);
  } catch (cause) {
    throw new SvcError('unauthenticated', 'the request is not a SealNodeEnvelope', { cause });
  }
}

/** A method whose request comes in an envelope and that has one answer. */
export const sealed = <T>(
  parts: ClusterParts,
  message: RequestType<T>,
  handle: (opened: Opened<T>, call: UnaryCall) => Promise<Uint8Array>,
): UnaryInBytes =>
  unary(parts, async (call) => {
    requireSize(call.request, parts.limits.controlBytes);
    return handle(await openedCall(call, message, parts), call);
  });

/** Checks the size of a request. Throws `payload_too_large` above `mostBytes`. */
export function requireSize(request: Buffer, mostBytes: number): void {
  if (request.length > mostBytes) {
    throw new SvcError('payload_too_large', `the request is too large: expected at most ${mostBytes} bytes`);
  }
}

/** Limits for what one node may cost another over the cluster port. Every number is a setting. */
export interface ClusterLimits extends GrpcLimits {
  /** Most AttestNode and ChallengeNode calls of all nodes at once; further ones are answered RESOURCE_EXHAUSTED. */
  readonly attestations: number;
  /** Largest request of a caller without a token, bytes. */
  readonly attestationBytes: number;
  /** Largest request of a node, bytes. ForwardExecution has `messageBytes` instead, for its manifest and input. */
  readonly controlBytes: number;
}

export const CLUSTER_LIMITS: ClusterLimits = {
  ...GRPC_LIMITS,
  descriptorShare: 0.05,
  attestations: 8_192,
  attestationBytes: 16 * 1024,
  controlBytes: 4 * 1024 * 1024,
};

/** Result of a pushed configuration; the controller that pushed it gets `reason`. */
export type Applied = { readonly accepted: true } | { readonly accepted: false; readonly reason: string };

/** The operations of a node that runs executions, called by controllers. */
export interface ClusterWorker {
  readonly executions: ExecutionApi;
  /** Applies all controller-managed sections or none. Refuses a version older than the one in force. */
  applyConfig(configYaml: string): Promise<Applied>;
}

/** The ports of the server of the cluster port. */
export interface ClusterServerParts {
  readonly peers: NodePeerApi;
  readonly tokens: NodeTokens;
  /** Verifies token and signature of an envelope against the metadata `authorization`. Throws `unauthenticated`. */
  openEnvelope(authorization: string | undefined, envelope: NodeEnvelope): Promise<NodeIdentity>;
  /** Checks the proof of an envelope: for which call, which node and at which time it was made. */
  readonly proofs: NodeProofs;
  /** Null on a pure controller: ForwardExecution and PushConfig answer FAILED_PRECONDITION. */
  readonly worker: ClusterWorker | null;
  /** False on a pure worker: methods of controllers answer FAILED_PRECONDITION. */
  readonly controller: boolean;
  /** Decides which nodes may be attested, and with which role and capabilities they may register. */
  readonly joins: Pick<NodeAdmission, 'admit' | 'requireScope'>;
  /** Set: the port speaks TLS, and its certificate authority decides which clients it accepts. */
  readonly tls: ServerTls | null;
  readonly health: Health;
  /** Records changes of the fleet, and denials. Absent: nothing is recorded. */
  readonly operationAudit?: OperationAudit;
  readonly logger: GrpcLogger;
  /** Absent: forwarded executions are never refused as `overloaded`. */
  readonly admission?: Pick<Admission, 'enter'>;
  /** Whether an address belongs to a container of agents and is refused. Absent: no address is. */
  readonly isOfAgents?: (address: string) => boolean;
  readonly limits?: Partial<ClusterLimits>;
}

/** The same with all defaults filled in, for the methods. */
export interface ClusterParts extends ClusterServerParts {
  readonly limits: ClusterLimits;
  readonly streams: OpenStreams;
}
