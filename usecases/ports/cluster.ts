import { z } from 'zod';

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

/** What something waits for because no live node offers it (P1). */
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
  /** Sends the managed configuration in force to every reachable node (G30). */
  pushConfig(): Promise<readonly PushAnswer[]>;
}

/**
 * What a member publishes to the others with its node lease (P2). The fields only grow: a reader ignores fields that it
 * does not know, so nodes of different versions can share a fleet.
 */
export const MemberInfo = z.object({
  role: z.enum(['controller', 'worker', 'hybrid']),
  tags: z.array(z.string()).max(64),
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
