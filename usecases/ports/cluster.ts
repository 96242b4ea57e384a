import { z } from 'zod';
import type { Page, PageAsked } from '../../runtime/documents/pages.ts';

/** This node's own view of itself. */
export interface LocalNode {
  readonly node_id: string;
  /** UUID of this process run of the node. */
  readonly incarnation: string;
  readonly role: MemberInfo['role'];
  readonly tags: readonly string[];
  /** The result of /health/ready. */
  readonly ready: boolean;
  readonly draining: boolean;
  /** Number of partitions that it owns, by pool. */
  readonly partitions: Readonly<Record<string, number>>;
  /** Actors in memory. */
  readonly residents: number;
  /** Owned partitions whose waiting messages are not read. This is an alarm: the node takes these partitions again. */
  readonly unread_partitions: number;
  /** Messages of actors whose states load slowly, because their stores are slow or unavailable. */
  readonly postponed_messages: number;
  /** Commits since the start that were refused because another node held the lease. */
  readonly fenced_commits: number;
  readonly running_effects: number;
  /** Ms since the node lease was last extended, by this node's clock. */
  readonly lease_age_ms: number;
}

/** A process that holds its node lease. `info` is null when this version cannot read it. */
export interface MemberStatus {
  readonly node_id: string;
  readonly incarnation: string;
  readonly info: MemberInfo | null;
  /** Number of partitions that it should serve, by pool. */
  readonly partitions: Readonly<Record<string, number>>;
}

/** A missing offer that something waits for: no live node has it (P1). */
export interface WaitingFor {
  readonly tags: readonly string[];
  /** For people, such as "waiting for a node with tags gpu". */
  readonly reason: string;
}

export interface PoolStatus {
  readonly pool: string;
  readonly tags: readonly string[];
  readonly partitions: number;
  /** Partitions that a live member should serve: all, or 0 when no member matches. */
  readonly served: number;
  readonly waiting_for: WaitingFor | null;
}

/** Ordered by node id, and by pool. */
export interface ClusterStatus {
  readonly members: readonly MemberStatus[];
  readonly pools: readonly PoolStatus[];
}

/** A change of the fleet to be tried out: members that leave, and nodes that join. */
export interface FleetChange {
  readonly without: readonly string[];
  readonly join: readonly JoiningNodes[];
}

/** Equal nodes that join. */
export interface JoiningNodes {
  readonly count: number;
  readonly role: MemberInfo['role'];
  readonly tags: readonly string[];
  readonly weight: number;
}

/** Partitions that change from one owner to another. Null: no node serves them. */
export interface PlannedMove {
  readonly from: string | null;
  readonly to: string | null;
  readonly partitions: number;
  /** Actors that live in them now. */
  readonly actors: number;
}

export interface PlannedPool {
  readonly pool: string;
  readonly tags: readonly string[];
  readonly partitions: number;
  /** Whether a live member may serve it now. */
  readonly was_served: boolean;
  /** What the pool would wait for; null when a member may serve it. */
  readonly waiting_for: WaitingFor | null;
  readonly moved_partitions: number;
  readonly moved_actors: number;
  /** Most partitions first. */
  readonly moves: readonly PlannedMove[];
}

interface PlannedNode {
  readonly node_id: string;
  readonly change: 'stays' | 'leaves' | 'joins';
  /** Null when this version cannot read what the node publishes. */
  readonly role: MemberInfo['role'] | null;
  readonly tags: readonly string[];
  /** Number of partitions now and after the change, by pool. */
  readonly before: Readonly<Record<string, number>>;
  readonly after: Readonly<Record<string, number>>;
}

/** The effects of a change of the fleet. Ordered by node id, and by pool. */
export interface ClusterPlan {
  readonly nodes: readonly PlannedNode[];
  readonly pools: readonly PlannedPool[];
  readonly moved_partitions: number;
  readonly moved_actors: number;
  /** Tags that a working member has now and none would have. */
  readonly lost_tags: readonly string[];
}

/** Number of actors and waiting messages of a partition. */
export interface PartitionLoad {
  readonly partition: string;
  readonly pool: string;
  /** The member that should serve it; null when no member may. */
  readonly node: string | null;
  readonly actors: number;
  /** Messages that wait in its log. Partitions of one node may share a log, and then have the same number. */
  readonly waiting_messages: number;
}

/** Partitions of a pool that a node began to serve at about the same time and for one reason. */
export interface Takeover {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  /** The node that serves them since then. */
  readonly node: string;
  readonly incarnation: string;
  /** The node that should have served them before; null for none. */
  readonly from: string | null;
  readonly reason: TakeoverReason;
  /** For `rebalanced`: the nodes that came, went or changed. */
  readonly because: readonly string[];
  readonly pool: string;
  readonly partitions: number;
  /** Their numbers in the pool. */
  readonly numbers: readonly number[];
}

/**
 * `new_pool`, `not_served`: no member served it. `died`, `left`, `drained`: what happened to the node before. `not_eligible`:
 * that node no longer has the tags or role. `rebalanced`: other nodes came, went or changed. `lease_lost`: the same node lost
 * the lease and took it again.
 */
export const TAKEOVER_REASONS = [
  'new_pool',
  'not_served',
  'died',
  'left',
  'drained',
  'not_eligible',
  'rebalanced',
  'lease_lost',
] as const;

type TakeoverReason = (typeof TAKEOVER_REASONS)[number];

/** A node's answer to a configuration that was pushed to it. */
export interface PushAnswer {
  readonly node_id: string;
  readonly accepted: boolean;
  /** Why the node refused it; null when it accepted. */
  readonly reason: string | null;
}

/** The fleet as operators see and control it, besides what registered peers report (`actors/node-peer`). */
export interface ClusterApi {
  /** Reads the members now. Throws `unavailable`. */
  status(): Promise<ClusterStatus>;
  /** Reads from memory, so it answers while the stores are unavailable. */
  local(): LocalNode;
  /** Signals a live member, this node included, through the store to drain. Throws `not_found`. */
  drainMember(nodeId: string): Promise<void>;
  /** Signals a live member through the store to drain and then exit. Throws `not_found`. */
  shutDownMember(nodeId: string, reason: string): Promise<void>;
  /**
   * The effects of a change of the fleet, by the same assignment that the nodes compute. Changes nothing. Throws
   * `invalid_argument` for a node in `without` that is not a member, and `unavailable`.
   */
  plan(change: FleetChange): Promise<ClusterPlan>;
  /** The load of every partition, at most 2 s old, ordered by pool and number. Throws `unavailable`. */
  partitions(): Promise<readonly PartitionLoad[]>;
  /** Which partitions nodes took over, when and why; newest first. `node`: only those of this node. */
  takeovers(node: string | undefined, page: PageAsked): Promise<Page<Takeover>>;
  /** Sends the managed configuration in force to every reachable node (G30). */
  pushConfig(): Promise<readonly PushAnswer[]>;
}

/**
 * The info that a member publishes with its node lease (P2). The fields only grow: a reader ignores fields that it does not
 * know, so nodes of different versions can share a fleet.
 */
export const MemberInfo = z.object({
  role: z.enum(['controller', 'worker', 'hybrid']),
  tags: z.array(z.string()).max(64),
  /** Its capabilities besides its tags, such as `model:default`; see `capabilitiesOf`. Absent: an earlier version. */
  capabilities: z.array(z.string()).max(256).optional(),
  /** It serves only the pools of its tags. */
  exclusive: z.boolean().optional(),
  /** Share of the work relative to the other members of the same pool. */
  weight: z.number().positive().max(100),
  draining: z.boolean(),
  /** Version of the product, shown to operators. */
  version: z.string(),
  /** Format of the data that it stores (runtime/store-formats.ts); absent means format 1. */
  format: z.number().int().positive().optional(),
  /** Unix ms. */
  startedAt: z.number(),
  /** `host:port` that peers connect to for failure detection; null when the node is not watched. */
  pulse: z.string().nullable(),
  /** `host:port` of NodeClusterService; null when the node does not serve it. */
  clusterAddress: z.string().nullable(),
  /** Base URL of REST, for operators. */
  restUrl: z.string().nullable(),
});

export type MemberInfo = z.output<typeof MemberInfo>;
