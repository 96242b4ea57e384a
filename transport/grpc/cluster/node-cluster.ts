import { createHash } from 'node:crypto';
import type { Metadata, Server } from '@grpc/grpc-js';
import {
  AttestNodeRequest,
  AttestNodeResponse,
  ChallengeNodeRequest,
  ChallengeNodeResponse,
  DeregisterNodeRequest,
  DeregisterNodeResponse,
  ForwardExecutionRequest,
  HeartbeatRequest,
  HeartbeatResponse,
  ListPeersRequest,
  ListPeersResponse,
  PushConfigRequest,
  PushConfigResponse,
  RegisterNodeRequest,
  RegisterNodeResponse,
  RouteExecutionRequest,
  RouteExecutionResponse,
  SyncConfigRequest,
  SyncConfigResponse,
  NodeClusterServiceService as service,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { invalidField, SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { delegatedTenant, type NodeIdentity } from '../../../security/api.ts';
import { startForwarded } from '../../../usecases/starts/start-execution.ts';
import { single } from '../access.ts';
import { targetIs } from '../audit.ts';
import { traceOfCall, type UnaryCall } from '../call-context.ts';
import { decoded, inBytes, type StreamInBytes, type UnaryInBytes, unary } from '../service.ts';
import { streamExecution } from '../stream-execution.ts';
import {
  type Applied,
  type ClusterParts,
  type ClusterWorker,
  keyOf,
  type Opened,
  openedCall,
  type RequestType,
  requireSize,
  sealed,
} from './envelope.ts';
import {
  callerHost,
  commandToWire,
  forwardedStart,
  nodeAddress,
  peerToWire,
  roleOf,
  statusNamed,
  uuidOf,
} from './wire-names.ts';

/**
 * Adds `svc.cluster.v1.NodeClusterService` (G16): the first two methods are open, all others need a SealNodeEnvelope.
 */
export function addNodeCluster(server: Server, parts: ClusterParts): void {
  const methods = {
    attestNode: inBytes(service.attestNode),
    challengeNode: inBytes(service.challengeNode),
    registerNode: inBytes(service.registerNode),
    heartbeat: inBytes(service.heartbeat),
    deregisterNode: inBytes(service.deregisterNode),
    routeExecution: inBytes(service.routeExecution),
    forwardExecution: inBytes(service.forwardExecution),
    syncConfig: inBytes(service.syncConfig),
    pushConfig: inBytes(service.pushConfig),
    listPeers: inBytes(service.listPeers),
  };
  server.addService(methods, {
    ...attestation(parts),
    registerNode: registerNode(parts),
    heartbeat: heartbeat(parts),
    deregisterNode: deregisterNode(parts),
    routeExecution: routeExecution(parts),
    forwardExecution: forwardExecution(parts),
    syncConfig: syncConfig(parts),
    pushConfig: pushConfig(parts),
    listPeers: listPeers(parts),
  });
}

/** Metadata key of AttestNode for fleets that require a join token. */
const JOIN_TOKEN_KEY = 'svc-join-token';

/** AttestNode and ChallengeNode (G17), the two methods that need no node token. */
function attestation(parts: ClusterParts): {
  readonly attestNode: UnaryInBytes;
  readonly challengeNode: UnaryInBytes;
} {
  const bounded = boundedCalls(parts);
  return {
    attestNode: bounded(AttestNodeRequest, async ({ node_id, public_key_pem, role }, call) => {
      const asked = { nodeId: node_id, publicKeyPem: public_key_pem, role: roleOf(role) };
      const from = callerHost(call.getPeer());
      const joining = await parts.joins.admit({ ...asked, from }, single(call.metadata, JOIN_TOKEN_KEY));
      const { challengeNonce, challengeId } = await parts.peers.attest(asked);
      // A join token is used up only when every other check has passed.
      await joining.settle();
      return AttestNodeResponse.encode({ challenge_nonce: challengeNonce, challenge_id: challengeId }).finish();
    }),
    challengeNode: bounded(ChallengeNodeRequest, async ({ challenge_id, signature }, call) => {
      const node = await parts.peers.answerChallenge({ challengeId: challenge_id, signature });
      targetIs(call.metadata, node.nodeId);
      const { token, expiresAt } = await parts.tokens.issue(node);
      const expires_at = new Date(expiresAt).toISOString();
      return ChallengeNodeResponse.encode({ node_security_token: token, expires_at }).finish();
    }),
  };
}

/** Limits the calls that need no token: their messages are small, and only a limited number runs at once. */
function boundedCalls(parts: ClusterParts) {
  const { attestations, attestationBytes } = parts.limits;
  let underWay = 0;
  return <T>(message: RequestType<T>, handle: (request: T, call: UnaryCall) => Promise<Uint8Array>): UnaryInBytes =>
    unary(parts, async (call) => {
      if (underWay >= attestations) {
        throw new SvcError('rate_limited', 'too many attestations are under way', { retryAfterMs: 1_000 });
      }
      underWay += 1;
      try {
        requireSize(call.request, attestationBytes);
        return await handle(decoded(message, call.request), call);
      } finally {
        underWay -= 1;
      }
    });
}

const MAX_REASON_CHARS = 500;

/** RegisterNode (G24): creates or updates a registration, at the address that the node gives or calls from. */
const registerNode = (parts: ClusterParts): UnaryInBytes =>
  sealed(parts, RegisterNodeRequest, async ({ node, request }, call) => {
    if (request.capabilities === undefined)
      throw invalidField('capabilities', 'expected a NodeCapabilityAdvertisement');
    const grpcAddress = nodeAddress(call.metadata, call.getPeer());
    const { tags } = request.capabilities;
    await parts.joins.requireScope(node, { tags, grpcAddress, from: callerHost(call.getPeer()) });
    const { peerId } = await parts.peers.register(node.nodeId, {
      role: node.role,
      capabilities: request.capabilities,
      grpcAddress,
      publicKeyPem: keyOf(node),
    });
    return RegisterNodeResponse.encode({ peer_id: peerId }).finish();
  });

/** Heartbeat (G26): reports load and status of the node; the answer carries the commands queued for it. */
const heartbeat = (parts: ClusterParts): UnaryInBytes =>
  sealed(parts, HeartbeatRequest, async ({ node, request }) => {
    await requireOwner(node, parts);
    const { commands } = await parts.peers.heartbeat(node.nodeId, {
      peerId: request.peer_id,
      activeExecutionCount: request.active_execution_count,
      cpuUtilizationPercent: request.cpu_utilization_percent,
      memoryUtilizationPercent: request.memory_utilization_percent,
      status: statusNamed(request.status, 'status'),
    });
    return HeartbeatResponse.encode({ commands: commands.map(commandToWire) }).finish();
  });

/** Refuses the token of an earlier owner of the node id: the commands are for the present owner. */
async function requireOwner(node: NodeIdentity, { peers }: ClusterParts): Promise<void> {
  if (await peers.isRegistered(node.nodeId, keyOf(node))) return;
  if (await peers.isRegistered(node.nodeId))
    throw new SvcError('unauthenticated', 'this node id is now registered with another key: attest again with it');
}

/**
 * DeregisterNode. The specification does not show its fields, so an empty request means the node that sent it. A
 * request that names another node is PERMISSION_DENIED.
 */
const deregisterNode = (parts: ClusterParts): UnaryInBytes =>
  sealed(parts, DeregisterNodeRequest, async ({ node, request }) => {
    if (request.node_id !== '' && request.node_id !== node.nodeId) {
      throw new SvcError('forbidden', 'node_id: a node deregisters only itself', { field: 'node_id' });
    }
    if (request.reason.length > MAX_REASON_CHARS)
      throw invalidField('reason', `expected at most ${MAX_REASON_CHARS} characters`);
    const { accepted } = await parts.peers.deregister(node.nodeId, request.reason, keyOf(node));
    return DeregisterNodeResponse.encode({ accepted }).finish();
  });

/**
 * ForwardExecution (G29): starts an execution on this worker and streams its events as ExecuteAgent does. A repeat of
 * the same `execution_id` streams the same execution from its first event; with another input it is refused.
 */
const forwardExecution = (parts: ClusterParts): StreamInBytes =>
  streamExecution(parts, async (call, signal) => {
    const { node, request } = await openedCall(call, ForwardExecutionRequest, parts);
    requireController(node);
    const identity = actingFor(node, call.metadata);
    const { executions } = workerOf(parts);
    const start = await forwardedStart(request, identity, parts.limits);
    const { execution_id } = await startForwarded(executions, start, { trace: traceOfCall(call.metadata), signal });
    return { tenant: identity.tenant, executionId: execution_id, executions };
  });

/** PushConfig (G30): applies a complete and valid configuration; refuses any other with the reason. */
const pushConfig = (parts: ClusterParts): UnaryInBytes =>
  sealed(parts, PushConfigRequest, async ({ node, request: { config_yaml, config_hash } }) => {
    requireController(node);
    const applied: Applied =
      createHash('sha256').update(config_yaml).digest('hex') === config_hash
        ? await workerOf(parts).applyConfig(config_yaml)
        : { accepted: false, reason: 'config_hash is not the SHA-256 of config_yaml in lower-case hex' };
    const { accepted } = applied;
    return PushConfigResponse.encode(
      applied.accepted ? { accepted, rejection_reason: undefined } : { accepted, rejection_reason: applied.reason },
    ).finish();
  });

function workerOf({ worker }: ClusterParts): ClusterWorker {
  if (worker === null) throw new SvcError('failed_precondition', 'this node is not a worker');
  return worker;
}

/** Throws unless the node is a controller: only controllers send work and configuration. */
function requireController({ role }: NodeIdentity): void {
  // A hybrid node acts as a controller with a token that it signed itself, since its own registration may have been
  // removed.
  if (role === 'CONTROLLER') return;
  throw new SvcError('forbidden', `only a controller may call this: the token is for role ${role}`);
}

/** The identity of a controller: a service account of the tenant that it names (G3). */
const actingFor = ({ nodeId }: NodeIdentity, metadata: Metadata): Identity => ({
  kind: 'service_account',
  subject: `node:${nodeId}`,
  tenant: delegatedTenant(single(metadata, 'x-tenant-id')),
  roles: [],
  tier: 'enterprise',
});

/** A method for members of the fleet: a worker's token is not enough, the node must also be registered. */
const forMembers = <T>(
  parts: ClusterParts,
  message: RequestType<T>,
  handle: (opened: Opened<T>) => Promise<Uint8Array>,
): UnaryInBytes =>
  sealed(parts, message, async (opened) => {
    await requireMember(opened.node, parts);
    return handle(opened);
  });

/** Throws unless the node is registered. Controllers sign their own tokens and need no registration. */
async function requireMember(node: NodeIdentity, { peers }: ClusterParts): Promise<void> {
  if (node.role === 'CONTROLLER' || (await peers.isRegistered(node.nodeId, keyOf(node)))) return;
  throw new SvcError('unauthenticated', 'this node is not registered: call RegisterNode first');
}

/** RouteExecution (G28): UNAVAILABLE without a healthy worker, RESOURCE_EXHAUSTED when no worker matches. */
const routeExecution = (parts: ClusterParts): UnaryInBytes =>
  forMembers(parts, RouteExecutionRequest, async ({ request: { execution_id, required } }) => {
    uuidOf(execution_id, 'execution_id');
    const { nodeId, grpcAddress } = await parts.peers.route(required ?? {});
    return RouteExecutionResponse.encode({ target_node_id: nodeId, worker_grpc_address: grpcAddress }).finish();
  });

/** ListPeers (G31): lists the registered nodes, filtered by status. */
const listPeers = (parts: ClusterParts): UnaryInBytes =>
  forMembers(parts, ListPeersRequest, async ({ request: { filter_status } }) => {
    const peers = await parts.peers.list(
      filter_status === undefined ? undefined : statusNamed(filter_status, 'filter_status'),
    );
    return ListPeersResponse.encode({ peers: peers.map(peerToWire) }).finish();
  });

/** SyncConfig (G30): returns the controller-managed sections and their hash. */
const syncConfig = (parts: ClusterParts): UnaryInBytes =>
  forMembers(parts, SyncConfigRequest, async () => {
    const { config_yaml, config_hash } = await parts.peers.config();
    return SyncConfigResponse.encode({ config_yaml, config_hash }).finish();
  });
