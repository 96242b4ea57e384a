import { z } from 'zod';
import { needsPaths } from '../expectation.ts';
import { secretText } from '../secret.ts';
import { port } from './network.ts';

const seconds = z.number().int().min(1).max(86_400);
const path = z.string().min(1).max(4_096);
export const tag = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,62}$/, 'expected a tag such as gpu or zone:eu');
export const endpoint = z
  .string()
  .max(300)
  .regex(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/, 'expected host:port');
const amount = z.number().min(0).max(1_000_000_000);

/** `spec.node`: this node's identity and capabilities. Without `id` a UUID is stored in the data directory. */
export const NodeSelf = z.strictObject({
  id: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
      'expected at most 128 letters, digits, ".", "_" and "-", the first a letter or digit',
    )
    .optional(),
  region: z.string().min(1).max(100).optional(),
  tags: z.array(tag).max(32).default([]),
  /** Only work for its tags; all other work goes to other nodes. */
  exclusive: z.boolean().default(false),
  /** Weight of this node in the distribution of partitions among the nodes of its pools (P2). */
  weight: z.number().min(0.1).max(100).default(1),
  resources: z
    .strictObject({
      cpu_cores: amount.optional(),
      memory_gb: amount.optional(),
      disk_gb: amount.optional(),
      gpu_count: amount.optional(),
      vram_gb: amount.optional(),
      gpu: z.union([z.boolean(), z.string().min(1).max(100)]).optional(),
    })
    .prefault({}),
});

/** `spec.cluster` (G16, W45). */
export const NodeCluster = z.strictObject({
  enabled: z.boolean().default(false),
  role: z.enum(['controller', 'worker', 'hybrid']).default('hybrid'),
  /** Controllers that a worker registers with, one or several `host:port`; `token` is their `join_token`. */
  controller: z
    .strictObject({
      endpoint: z.union([endpoint.transform((one) => [one]), z.array(endpoint).min(1).max(32)]),
      token: secretText.optional(),
    })
    .optional(),
  /** Token that a node must send to be attested; the same for all nodes, without expiry. */
  join_token: secretText.optional(),
  /** Allows plain text on a cluster port beyond loopback: only for an encrypted or private network. */
  insecure: z.boolean().default(false),
  /** A node needs a join token to be attested: one created by `svc node token create`, or `join_token`. */
  require_join_token: z.boolean().default(false),
  /** Refuses calls of nodes without a proof of their key, so every node of the fleet must send it. */
  require_proof: z.boolean().default(false),
  /** Address of the cluster port; default `network.bind`. */
  bind: z.string().min(1).max(255).optional(),
  /**
   * Host name or address at which other nodes reach this one; default the bound address, or the first one that is not internal.
   */
  advertise_host: z.string().min(1).max(255).optional(),
  cluster_grpc_port: port.default(50_056),
  peers: z.array(z.string().min(1).max(500)).max(1_000).default([]),
  node_keypair_path: path.optional(),
  heartbeat_interval_secs: seconds.default(30),
  token_refresh_margin_secs: seconds.default(120),
  stale_threshold_secs: seconds.default(90),
  sweep_interval_secs: seconds.default(30),
  tls: z
    .strictObject({
      enabled: z.boolean().default(false),
      cert_path: path.optional(),
      key_path: path.optional(),
      ca_cert: path.optional(),
    })
    .superRefine(needsPaths('cert_path', 'key_path', 'ca_cert'))
    .prefault({}),
});

/** `spec.chaos`: injected faults. Off unless enabled, and only for the tenants named. */
export const NodeChaos = z.strictObject({
  enabled: z.boolean().default(false),
  tenants: z.array(z.string().min(1).max(128)).max(1_000).default([]),
});
