import {
  ListPeersRequest,
  ListPeersResponse,
  RouteExecutionRequest,
  RouteExecutionResponse,
  SyncConfigRequest,
  SyncConfigResponse,
} from '../../../proto/gen/svc/cluster/v1/cluster.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { NodeIdentity } from '../../../security/api.ts';
import type { UnaryInBytes } from '../service.ts';
import { keyOf, type Opened, type RequestType, sealed } from './envelope.ts';
import { uuidOf } from './forward-request.ts';
import type { ClusterParts } from './parts.ts';
import { peerToWire, statusNamed } from './wire-names.ts';

/** A method for nodes of the fleet: a worker's token alone is not enough, it has to be registered. */
const forMembers = <T>(
  parts: ClusterParts,
  message: RequestType<T>,
  handle: (opened: Opened<T>) => Promise<Uint8Array>,
): UnaryInBytes =>
  sealed(parts, message, async (opened) => {
    await requireMember(opened.node, parts);
    return handle(opened);
  });

/** Controllers sign their own tokens and need not register with themselves. */
async function requireMember(node: NodeIdentity, { peers }: ClusterParts): Promise<void> {
  if (node.role === 'CONTROLLER' || (await peers.isRegistered(node.nodeId, keyOf(node)))) return;
  throw new SvcError('unauthenticated', 'this node is not registered: call RegisterNode first');
}

/** RouteExecution (spec 1, rule 1). UNAVAILABLE without a healthy worker, RESOURCE_EXHAUSTED when none can take it. */
export const routeExecution = (parts: ClusterParts): UnaryInBytes =>
  forMembers(parts, RouteExecutionRequest, async ({ request: { execution_id, required } }) => {
    uuidOf(execution_id, 'execution_id');
    const { nodeId, grpcAddress } = await parts.peers.route(required ?? {});
    return RouteExecutionResponse.encode({ target_node_id: nodeId, worker_grpc_address: grpcAddress }).finish();
  });

/** ListPeers (spec 1, rule 4). */
export const listPeers = (parts: ClusterParts): UnaryInBytes =>
  forMembers(parts, ListPeersRequest, async ({ request: { filter_status } }) => {
    const peers = await parts.peers.list(
      filter_status === undefined ? undefined : statusNamed(filter_status, 'filter_status'),
    );
    return ListPeersResponse.encode({ peers: peers.map(peerToWire) }).finish();
  });

/** SyncConfig (spec 1, rule 3): the controller-managed sections and their hash. */
export const syncConfig = (parts: ClusterParts): UnaryInBytes =>
  forMembers(parts, SyncConfigRequest, async () => {
    const { config_yaml, config_hash } = await parts.peers.config();
    return SyncConfigResponse.encode({ config_yaml, config_hash }).finish();
  });
