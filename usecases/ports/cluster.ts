import { z } from 'zod';

/** This node as it sees itself. */
export interface LocalNode {
  readonly node_id: string;
  /** UUID of this life of the node. */
  readonly incarnation: string;
  readonly role: MemberInfo['role'];
  readonly tags: readonly string[];
  /** What /health/ready says. */
  readonly ready: boolean;
  readonly draining: boolean;
  /** How many partitions it holds, by pool. */
  readonly partitions: Readonly<Record<string, number>>;
  /** Actors in memory. */
  readonly residents: number;
  /** Partitions held here in which messages wait and are not read: an alarm, they are taken anew. */
  readonly unread_partitions: number;
  /** Messages whose actors are slow to come: their states are in stores that take long, or are away. */
  readonly postponed_messages: number;
  /** Commits that were refused since the start because the lease was another node's. */
  readonly fenced_commits: number;
  readonly running_effects: number;
  /** Since the node lease was last extended, by this node's clock. */
  readonly lease_age_ms: number;
}

/** A process that holds its node lease. `info` is null when it says what this version cannot read. */
export interface MemberStatus {
  readonly node_id: string;
  readonly incarnation: string;
  readonly info: MemberInfo | null;
  /** How many partitions it should serve, by pool. */
  readonly partitions: Readonly<Record<string, number>>;
}

/** What something waits for that no live node has (P1). */
export interface WaitingFor {
  readonly tags: readonly string[];
  /** Such as "waiting for a node with tags gpu". */
  readonly reason: string;
}

export interface PoolStatus {
  readonly pool: string;
  readonly tags: readonly string[];
  readonly partitions: number;
  /** Partitions that some live member should serve: all, or 0 when no member fits. */
  readonly served: number;
  readonly waiting_for: WaitingFor | null;
}

/** Ordered by node id, and by pool. */
export interface ClusterStatus {
  readonly members: readonly MemberStatus[];
  readonly pools: readonly PoolStatus[];
}

/** What a node said to configuration that was pushed to it. */
export interface PushAnswer {
  readonly node_id: string;
  readonly accepted: boolean;
  /** Why not; null when it took it. */
  readonly reason: string | null;
}

/** The fleet as operators see it and act on it, beside what registered peers tell (`actors/node-peer`). */
export interface ClusterApi {
  /** Looks at the members anew. Throws `unavailable`. */
  status(): Promise<ClusterStatus>;
  /** From memory, so it answers while the stores are away. */
  local(): LocalNode;
  /** Tells a live member, this node included, to drain, by a signal through the store. Throws `not_found`. */
  drainMember(nodeId: string): Promise<void>;
  /** The same to drain and end in order. Throws `not_found`. */
  shutDownMember(nodeId: string, reason: string): Promise<void>;
  /** Sends the managed configuration in force to every node that can be reached (G30). */
  pushConfig(): Promise<readonly PushAnswer[]>;
}

/**
 * What a member tells the others with its node lease (P2). Additive: a reader ignores what it does not know, so
 * that nodes of different versions share a fleet.
 */
export const MemberInfo = z.object({
  role: z.enum(['controller', 'worker', 'hybrid']),
  tags: z.array(z.string()).max(64),
  /** Share beside other members of the same pool. */
  weight: z.number().positive().max(100),
  draining: z.boolean(),
  /** Version of the product, shown to operators. */
  version: z.string(),
  /** Of what it stores (runtime/store-formats.ts); members that do not say are of format 1. */
  format: z.number().int().positive().optional(),
  /** Unix ms. */
  startedAt: z.number(),
  /** `host:port` that peers hold a connection to; null when the node is not watched. */
  pulse: z.string().nullable(),
  /** `host:port` of NodeClusterService; null without. */
  clusterAddress: z.string().nullable(),
  /** Base URL of REST, for operators. */
  restUrl: z.string().nullable(),
});

export type MemberInfo = z.output<typeof MemberInfo>;
