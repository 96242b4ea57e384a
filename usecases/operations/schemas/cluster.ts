import { z } from 'zod';

export const NODE_STATUSES = ['ACTIVE', 'DRAINING', 'UNHEALTHY'] as const;
/** A read-only list, since answers are never changed after they are made. */
const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();

const Role = z.enum(['CONTROLLER', 'WORKER', 'HYBRID']);

/** A node id, with the same rules as `spec.node.id`. */
export const NodeId = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'expected letters, digits, ".", "_" and "-"')
  .describe('Node id.');
export const NodeIdParams = z.object({ id: NodeId });

const Partitions = z.record(z.string(), z.number().int()).describe('Number of partitions by pool.');

export const WaitingFor = z.object({
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
    role: Role.nullable(),
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

export const ShutdownBody = z.object({
  reason: z.string().min(1).max(500).default('asked for by an operator').describe('Text for the log of the node.'),
});

export const ManagedConfigAnswer = z
  .object({
    config_yaml: z.string(),
    config_hash: z.string().describe('SHA-256 of the text, lower-case hex.'),
    version: z.number().int().describe('Grows with each configuration that is set; nodes refuse an older one.'),
  })
  .meta({ id: 'ManagedConfig' });
export const ManagedConfigBody = z.object({ config_yaml: z.string().max(1_048_576) });

export const PushAnswers = z.object({
  nodes: list(z.object({ node_id: z.string(), accepted: z.boolean(), reason: z.string().nullable() })),
});
