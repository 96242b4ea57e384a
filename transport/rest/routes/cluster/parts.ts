import type { NodePeer, NodePeerApi } from '../../../../actors/node-peer/api.ts';
import type { ClusterApi } from '../../../../cluster/api.ts';
import { SvcError } from '../../../../runtime/errors.ts';
import { type FleetNode, joinNodes } from '../../fleet-nodes.ts';
import type { RestParts } from '../../parts.ts';

/** Parts of a node that is in a fleet; peers only where NodeClusterService has a controller's side. */
export interface ClusterRouteParts extends RestParts {
  readonly cluster: ClusterApi;
}

/** Configuration for all nodes is kept where peers are. */
export interface ConfigRouteParts extends ClusterRouteParts {
  readonly peers: NodePeerApi;
}

export const peersOf = async (peers: NodePeerApi | undefined): Promise<readonly NodePeer[]> =>
  peers === undefined ? [] : peers.list();

/** One node, from its lease and its registration. Throws `not_found`. */
export async function findNode({ cluster, peers }: ClusterRouteParts, nodeId: string): Promise<FleetNode> {
  const [{ members }, known] = await Promise.all([cluster.status(), peersOf(peers)]);
  const found = joinNodes(members, known).find(({ node_id }) => node_id === nodeId);
  if (found === undefined) throw noNode(nodeId);
  return found;
}

export const noNode = (nodeId: string): SvcError => new SvcError('not_found', `There is no node ${nodeId}.`);
