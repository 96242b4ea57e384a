import { z } from 'zod';
import { NodeRoleName } from '../../../actors/node-peer/state.ts';
import { tag } from '../../../manifests/node/cluster.ts';
import { TAKEOVER_REASONS } from '../../ports/cluster.ts';
import { RUN_KINDS, RUN_STATUSES } from '../../runs/run.ts';
import { list } from './fields.ts';

export const NODE_STATUSES = ['ACTIVE', 'DRAINING', 'UNHEALTHY'] as const;
/** A read-only list, since answers are never changed after they are made. */

/** A node id, with the same rules as `spec.node.id`. */
export const NodeId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    'expected at most 128 letters, digits, ".", "_" and "-", the first a letter or digit',
  )
  .describe('Node id.');
export const NodeIdParams = z.object({ id: NodeId });

const Partitions = z.record(z.string(), z.number().int()).describe('Number of partitions by pool.');

const WaitingFor = z.object({
  tags: list(z.string()),
  reason: z.string().describe('Such as "waiting for a node with tags gpu".'),
});

const LocalNode = z.object({
  node_id: z.string(),
  incarnation: z.string().describe('Incarnation: UUID of this run of the node process.'),
  role: z.enum(['controller', 'worker', 'hybrid']),
  tags: list(z.string()),
  ready: z.boolean(),
  draining: z.boolean(),
  partitions: Partitions,
  residents: z.number().int().describe('Actors in memory.'),
  unread_partitions: z.number().int().describe('Alarm: owned partitions whose messages wait and are not read.'),
  postponed_messages: z
    .number()
    .int()
    .describe('Number of messages that wait until the state of their actor is loaded.'),
  fenced_commits: z.number().int().describe('Commits refused since the start because the lease was lost.'),
  running_effects: z.number().int(),
  lease_age_ms: z.number().describe('Milliseconds since the node lease was last extended.'),
});

const PoolStatus = z.object({
  pool: z.string(),
  tags: list(z.string()),
  partitions: z.number().int(),
  served: z.number().int().describe('Number of partitions that live nodes should serve.'),
  waiting_for: WaitingFor.nullable(),
});

export const ClusterStatusAnswer = z.object({
  node: LocalNode.describe('Node that answered.'),
  nodes: z.object({ ACTIVE: z.number().int(), DRAINING: z.number().int(), UNHEALTHY: z.number().int() }),
  pools: list(PoolStatus),
  chaos: z.boolean().describe('Whether fault injection is enabled on the node that answers.'),
});

const Capabilities = z.object({
  gpu_count: z.number(),
  vram_gb: z.number(),
  cpu_cores: z.number(),
  available_memory_gb: z.number(),
  supported_runtimes: list(z.string()),
  tags: list(z.string()),
});

export const FleetNodeAnswer = z
  .object({
    node_id: z.string(),
    role: NodeRoleName.nullable(),
    status: z.enum(NODE_STATUSES),
    tags: list(z.string()),
    capabilities: Capabilities.nullable().describe('Capabilities that a registered peer advertises.'),
    version: z.string().nullable(),
    started_at: z.string().nullable(),
    grpc_address: z.string().nullable(),
    rest_url: z.string().nullable(),
    partitions: Partitions,
    last_heartbeat_at: z.string().nullable(),
    member: z.boolean().describe('True while it holds a node lease.'),
    registered: z.boolean().describe('Known to NodeClusterService.'),
  })
  .meta({ id: 'Node' });

export const FleetNodeList = z.object({ nodes: list(FleetNodeAnswer) });

export const ShutdownBody = z.strictObject({
  reason: z.string().min(1).max(500).default('asked for by an operator').describe('Text for the log of the node.'),
});

export const ManagedConfigAnswer = z
  .object({
    config_yaml: z.string(),
    config_hash: z.string().describe('SHA-256 of the text, lower-case hex.'),
    version: z.number().int().describe('Grows with each configuration that is set; nodes refuse an older one.'),
  })
  .meta({ id: 'ManagedConfig' });
export const ManagedConfigBody = z.strictObject({ config_yaml: z.string().max(1_048_576) });

export const PushAnswers = z.object({
  nodes: list(z.object({ node_id: z.string(), accepted: z.boolean(), reason: z.string().nullable() })),
});

const MOST_TAGS = 32;

const JOINING = {
  tags: z.array(tag).max(MOST_TAGS),
  count: z.coerce.number().int().min(1).max(1_000),
  role: z.enum(['worker', 'hybrid', 'controller']),
  weight: z.coerce.number().positive().max(100),
};

const EXPECTED_JOIN = 'expected nodes such as tags=gpu,count=2 with keys tags, count, role and weight';

/** `tags=gpu,a100,count=2` as nodes; null when it cannot be read. A part without a key is one more tag. */
function readJoining(given: string) {
  const tags: string[] = [];
  const rest = new Map<string, string>();
  for (const part of given.split(',')) {
    const at = part.indexOf('=');
    const key = at < 0 ? 'tags' : part.slice(0, at).trim();
    const value = part.slice(at + 1).trim();
    if (key === 'tags') tags.push(...(value === '' ? [] : [value]));
    else if (rest.has(key)) return null;
    else rest.set(key, value);
  }
  const { count = '1', role = 'worker', weight = '1', ...others } = Object.fromEntries(rest);
  if (Object.keys(others).length > 0) return null;
  return z.object(JOINING).safeParse({ tags, count, role, weight }).data ?? null;
}

/** Equal nodes that join in a plan. */
export const joiningNodes = z
  .string()
  .max(2_000)
  .transform((given, context) => {
    const nodes = readJoining(given);
    if (nodes !== null) return nodes;
    context.issues.push({ code: 'custom', message: EXPECTED_JOIN, input: given });
    return z.NEVER;
  });

const count = z.number().int();

const PlannedNode = z.object({
  node_id: z.string(),
  change: z.enum(['stays', 'leaves', 'joins']),
  role: z.enum(['controller', 'worker', 'hybrid']).nullable(),
  tags: list(z.string()),
  before: Partitions,
  after: Partitions,
});

const PlannedPool = z.object({
  pool: z.string(),
  tags: list(z.string()),
  partitions: count,
  was_served: z.boolean().describe('Whether a live node may serve it now.'),
  waiting_for: WaitingFor.nullable().describe('What its actors would wait for; null when a node may serve it.'),
  moved_partitions: count,
  moved_actors: count,
  moves: list(
    z.object({
      from: z.string().nullable().describe('Null: no node serves them.'),
      to: z.string().nullable(),
      partitions: count,
      actors: count.describe('Actors that live in them now.'),
    }),
  ).describe('Most partitions first.'),
});

export const PlanAnswer = z
  .object({
    moved_partitions: count,
    moved_actors: count,
    lost_tags: list(z.string()).describe('Tags that a working node has now and none would have.'),
    waiting_runs: z
      .object({
        count,
        complete: z.boolean().describe('False: there are more unfinished runs than were examined.'),
        runs: list(
          z.object({
            id: z.string(),
            kind: z.enum(RUN_KINDS),
            name: z.string(),
            status: z.enum(RUN_STATUSES),
            tags: list(z.string()),
            pool: z.string(),
          }),
        ).describe('The newest 50.'),
      })
      .describe('Unfinished runs whose pool is served now and would not be.'),
    nodes: list(PlannedNode),
    pools: list(PlannedPool),
  })
  .meta({ id: 'ClusterPlan' });

export const PartitionLoads = z.object({
  partitions: list(
    z.object({
      partition: z.string().describe('Pool and number.'),
      pool: z.string(),
      node: z.string().nullable().describe('Node that should serve it; null when none may.'),
      actors: count,
      waiting_messages: count.describe(
        'Messages that wait in its log. Partitions of one node may share a log and then have the same number.',
      ),
    }),
  ),
});

export const TakeoverAnswer = z
  .object({
    id: z.string(),
    at: z.string(),
    node: z.string().describe('Node that serves them since then.'),
    incarnation: z.string(),
    from: z.string().nullable().describe('Node that should have served them before; null for none.'),
    reason: z
      .enum(TAKEOVER_REASONS)
      .describe(
        'new_pool, not_served: no node served them; died, left, drained: what happened to the node before; not_eligible: ' +
          'it no longer has the tags or role; rebalanced: other nodes came, went or changed; lease_lost: the same node ' +
          'lost the lease and took it again.',
      ),
    because: list(z.string()).describe('For rebalanced: the nodes that came, went or changed.'),
    pool: z.string(),
    partitions: count,
    numbers: list(count).describe('Their numbers in the pool.'),
  })
  .meta({ id: 'Takeover' });
