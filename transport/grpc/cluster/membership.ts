import {
  DeregisterNodeRequest,
  DeregisterNodeResponse,
  HeartbeatRequest,
  HeartbeatResponse,
  RegisterNodeRequest,
  RegisterNodeResponse,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { NodeIdentity } from '../../../security/api.ts';
import type { UnaryInBytes } from '../service.ts';
import { keyOf, sealed } from './envelope.ts';
import { callerHost, nodeAddress } from './node-address.ts';
import type { ClusterParts } from './parts.ts';
import { commandToWire, invalid, statusNamed } from './wire-names.ts';

const MAX_REASON_CHARS = 500;

/** RegisterNode (spec 1): upsert, at the address the node tells or calls from. */
export const registerNode = (parts: ClusterParts): UnaryInBytes =>
  sealed(parts, RegisterNodeRequest, async ({ node, request }, call) => {
    if (request.capabilities === undefined) throw invalid('capabilities', 'a NodeCapabilityAdvertisement');
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

/** Heartbeat (spec 1): load and status of the node, answered with the commands that wait for it. */
export const heartbeat = (parts: ClusterParts): UnaryInBytes =>
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

/** The token of an earlier owner of the node id takes no commands that are meant for the present one. */
async function requireOwner(node: NodeIdentity, { peers }: ClusterParts): Promise<void> {
  if (await peers.isRegistered(node.nodeId, keyOf(node))) return;
  if (await peers.isRegistered(node.nodeId)) throw new SvcError('unauthenticated', 'the node has another key now');
}

/**
 * DeregisterNode. The specification does not show its fields, so an empty request speaks of the node that sent it; one
 * that names another node is PERMISSION_DENIED.
 */
export const deregisterNode = (parts: ClusterParts): UnaryInBytes =>
  sealed(parts, DeregisterNodeRequest, async ({ node, request }) => {
    if (request.node_id !== '' && request.node_id !== node.nodeId) {
      throw new SvcError('forbidden', 'node_id: a node deregisters only itself', { field: 'node_id' });
    }
    if (request.reason.length > MAX_REASON_CHARS) throw invalid('reason', `at most ${MAX_REASON_CHARS} characters`);
    const { accepted } = await parts.peers.deregister(node.nodeId, request.reason, keyOf(node));
    return DeregisterNodeResponse.encode({ accepted }).finish();
  });
