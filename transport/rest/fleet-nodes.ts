import type { Capabilities, NodePeer, NodePeerStatus, NodeRole } from '../../actors/node-peer/api.ts';
import type { MemberStatus } from '../../cluster/api.ts';

/** One node as operators see it: what its node lease says, joined with what it told as a registered peer. */
export interface FleetNode {
  readonly node_id: string;
  readonly role: NodeRole | null;
  readonly status: NodePeerStatus;
  readonly tags: readonly string[];
  /** Of a registered peer. */
  readonly capabilities: Capabilities | null;
  readonly version: string | null;
  readonly started_at: string | null;
  readonly grpc_address: string | null;
  readonly rest_url: string | null;
  /** How many partitions it should serve, by pool. */
  readonly partitions: Readonly<Record<string, number>>;
  readonly last_heartbeat_at: string | null;
  /** Holds a node lease. */
  readonly member: boolean;
  /** Known to NodeClusterService. */
  readonly registered: boolean;
}

const ROLES = { controller: 'CONTROLLER', worker: 'WORKER', hybrid: 'HYBRID' } as const;

/** Every node that is a member or registered, ordered by id. */
export function joinNodes(members: readonly MemberStatus[], peers: readonly NodePeer[]): FleetNode[] {
  const byId = new Map(peers.map((peer) => [peer.node_id, peer]));
  const live = members.map((member) => nodeOf(member, byId.get(member.node_id)));
  const memberIds = new Set(members.map(({ node_id }) => node_id));
  const others = peers.filter(({ node_id }) => !memberIds.has(node_id)).map((peer) => nodeOf(undefined, peer));
  return [...live, ...others].sort((a, b) => (a.node_id < b.node_id ? -1 : 1));
}

function nodeOf(member: MemberStatus | undefined, peer: NodePeer | undefined): FleetNode {
  const card = member?.card ?? null;
  return {
    node_id: member?.node_id ?? peer?.node_id ?? '',
    role: card === null ? (peer?.role ?? null) : ROLES[card.role],
    // What the node itself says last wins; a queued drain is told by its record before the node knows.
    status: card?.draining === true ? 'DRAINING' : (peer?.status ?? 'ACTIVE'),
    tags: card?.tags ?? peer?.capabilities.tags ?? [],
    capabilities: peer?.capabilities ?? null,
    version: card?.version ?? null,
    started_at: card === null ? null : new Date(card.startedAt).toISOString(),
    grpc_address: textOrNull(peer?.grpc_address) ?? card?.clusterAddress ?? null,
    rest_url: card?.restUrl ?? null,
    partitions: member?.partitions ?? {},
    last_heartbeat_at: textOrNull(peer?.last_heartbeat_at),
    member: member !== undefined,
    registered: peer !== undefined,
  };
}

const textOrNull = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text);

/** How many nodes have each status. */
export function countByStatus(nodes: readonly FleetNode[]): Record<NodePeerStatus, number> {
  const counts = { ACTIVE: 0, DRAINING: 0, UNHEALTHY: 0 };
  for (const { status } of nodes) counts[status] += 1;
  return counts;
}
