import { z } from 'zod';
import { refuse } from '../expectation.ts';
import { secretUrl } from '../secret.ts';

const ms = (min: number, max: number) => z.number().int().min(min).max(max);

/** `spec.kernel`: the actor runtime (K2, K4, K7, K8, K10). */
export const NodeKernel = z
  .strictObject({
    /** Partitions of pool `default`, fixed at the first start. Default: 64 embedded, 256 on Redis. */
    partitions: z.number().int().min(1).max(16_384).optional(),
    /** Partitions of each pool for tags, fixed when the first actor with these tags is placed (P1). */
    tag_pool_partitions: z.number().int().min(1).max(16_384).default(32),
    /** Whether the partitions of this node share one log, on a Redis Cluster one for each slot tag (decision 0029). */
    shared_logs: z.boolean().default(true),
    lease_ttl_ms: ms(500, 600_000).default(6_000),
    lease_renew_ms: ms(100, 300_000).default(2_000),
    /** Limit of client messages that wait for one actor. */
    mailbox_bound: z.number().int().min(1).max(1_000_000).default(1_024),
    /** Actors idle for this long leave memory. */
    passivate_after_ms: ms(100, 86_400_000).default(30_000),
    /** Limit of the encoded states in memory, in bytes; the least recently used leave first. */
    cache_bytes: z.number().int().min(1_048_576).max(1_099_511_627_776).default(268_435_456),
    /** Effects of one pool that this node runs in parallel: model calls, tools, commands (E1). */
    effect_concurrency: z.number().int().min(1).max(10_000).default(32),
    /** How long the claim of a command or program stays valid when its node cannot renew it. */
    command_claim_ttl_ms: ms(500, 600_000).default(30_000),
    /** Attempts before a message is dead-lettered. */
    max_turn_attempts: z.number().int().min(1).max(100).default(5),
    /** Redis replicas that must have a write before it is acknowledged. */
    wait_replicas: z.number().int().min(0).max(10).default(0),
  })
  .superRefine((kernel, context) => {
    if (kernel.lease_renew_ms * 2 > kernel.lease_ttl_ms)
      refuse(
        context,
        ['lease_renew_ms'],
        `expected at most half of lease_ttl_ms (${kernel.lease_ttl_ms}), got ${kernel.lease_renew_ms}`,
      );
  });

/** `spec.limits`: load above which new work is refused (usecases/starts/admission.ts). */
export const NodeLimits = z.strictObject({
  /** Starts that a node without a queue accepts at the same time. */
  starts_in_flight: z.number().int().min(1).max(100_000).default(600),
  /** Longest time that a start may wait in the queue; a start that would wait longer is refused. */
  start_wait_ms: ms(10, 60_000).default(1_000),
});

const megabytes = z.number().int().min(1).max(67_108_864);

/** `spec.storage` (W45): volumes of workflows, stored in a directory of this host. */
export const NodeStorage = z
  .strictObject({
    backend: z.literal('local_host').default('local_host'),
    /** For ephemeral volumes without a time to live. */
    default_ttl_hours: z.number().int().min(1).max(87_600).default(24),
    /** MiB, for volumes without a size limit. */
    default_size_limit_mb: megabytes.default(1_000),
    /** MiB; the upper bound of any size limit. */
    max_size_limit_mb: megabytes.default(10_000),
    gc_interval_minutes: z.number().int().min(1).max(1_440).default(60),
    local_host: z
      .strictObject({
        /** Directory of all volumes; default `<data_dir>/volumes`. Nodes that share volumes share this directory. */
        mount_point: z.string().min(1).max(4_096).optional(),
        /**
         * How size limits are enforced for commands and containers. `sampled`: volumes are measured while they run, and those
         * over the limit are stopped. `image`: each volume is a file system of its size (Linux, root, a directory that only
         * this node uses).
         */
        quota: z.enum(['sampled', 'image']).default('sampled'),
      })
      .prefault({}),
  })
  .superRefine((storage, context) => {
    if (storage.default_size_limit_mb <= storage.max_size_limit_mb) return;
    const message = `expected at most max_size_limit_mb, ${storage.max_size_limit_mb}`;
    refuse(context, ['default_size_limit_mb'], message);
  });

export type NodeStorage = z.output<typeof NodeStorage>;

const redisUrl = secretUrl(['redis', 'rediss', 'redis+cluster', 'rediss+cluster', 'redis+sentinel', 'rediss+sentinel']);

/** `spec.stores`: both URLs, or neither for the embedded store under `data_dir` (W45). */
export const NodeStores = z.strictObject({
  redis: z
    .union([redisUrl, z.array(redisUrl).min(1).max(100)])
    .transform((urls) => (typeof urls === 'string' ? [urls] : urls))
    .optional(),
  mongodb: secretUrl(['mongodb', 'mongodb+srv']).optional(),
  /** The confirmation that a refused start asks for: older documents are accepted unchanged, once. */
  accept_older_documents: z
    .string()
    .regex(/^[0-9a-f]{12}$/, 'must be the confirmation that the refused start named, 12 characters of 0-9 and a-f')
    .optional(),
  data_dir: z.string().min(1).max(4_096).default('./data'),
});

/** `spec.workflow`: how workflows run here. */
export const NodeWorkflow = z.strictObject({
  /** Transitions of one run before it fails with `max_transitions_exceeded` (W19). */
  max_transitions: z.number().int().min(1).max(1_000_000).default(1_000),
});
