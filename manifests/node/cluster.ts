import { z } from 'zod';
import { secretText } from '../secret.ts';
import { port } from './network.ts';

const seconds = z.number().int().min(1).max(86_400);
const path = z.string().min(1).max(4_096);
export const tag = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:/=-]{0,62}$/, 'expected a tag such as gpu or zone:eu');
const amount = z.number().min(0).max(1_000_000_000);

/** `spec.node`: who this node is and what it has. Without `id` a UUID is kept in the data directory. */
export const NodeSelf = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'expected letters, digits, ".", "_" and "-"')
    .optional(),
  region: z.string().min(1).max(100).optional(),
  tags: z.array(tag).max(32).default([]),
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

/** `spec.cluster` (spec 1, NodeClusterService; original-facts 3). */
export const NodeCluster = z.strictObject({
  enabled: z.boolean().default(false),
  role: z.enum(['controller', 'worker', 'hybrid']).default('hybrid'),
  controller: z.strictObject({ endpoint: z.string().min(1).max(500), token: secretText.optional() }).optional(),
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
    .superRefine((tls, context) => {
      for (const field of ['cert_path', 'key_path', 'ca_cert'] as const)
        if (tls.enabled && tls[field] === undefined)
          context.addIssue({ code: 'custom', path: [field], message: 'required when tls is enabled: expected a path' });
    })
    .prefault({}),
});
