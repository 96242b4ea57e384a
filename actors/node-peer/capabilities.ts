import { z } from 'zod';
import { endpoint, NodeSelf, tag } from '../../manifests/node/cluster.ts';

export const NodeRoleName = z.enum(['CONTROLLER', 'WORKER', 'HYBRID']);
export const PeerStatus = z.enum(['ACTIVE', 'DRAINING', 'UNHEALTHY']);

/** The same ids that a node may be configured with. */
export const NodeId = NodeSelf.shape.id.unwrap();
export const GrpcAddress = endpoint;

const count = z.number().int().min(0).max(4_294_967_295);
const amount = z.number().min(0).max(1_000_000_000);

/** NodeCapabilityAdvertisement (spec 1), bounded. */
export const CapabilitySet = z.object({
  gpu_count: count,
  vram_gb: amount,
  cpu_cores: count,
  available_memory_gb: amount,
  supported_runtimes: z.array(z.string().min(1).max(64)).max(64),
  tags: z.array(tag).max(64),
});

/** What an execution asks for: minimums, and every runtime and tag named (spec 1, RouteExecution). */
export const Requirement = CapabilitySet.partial();
export type Requirement = z.output<typeof Requirement>;

/** What a node says of its load with each heartbeat. */
export const Load = z.object({
  active_execution_count: count,
  cpu_utilization_percent: amount,
  memory_utilization_percent: amount,
});
