import os from 'node:os';
import type { NodeSettings } from '../../manifests/node/settings.ts';
import type { NodeCapabilityAdvertisement } from '../../proto/gen/svc/cluster/v1/cluster.ts';

/**
 * What this node offers (spec 1, NodeCapabilityAdvertisement): `spec.node.resources`, and the machine's own figures where
 * they are not set. Memory is what the process may use at all (a container's limit counts), in GiB, so that it does not
 * change from one registration to the next.
 */
export function nodeCapabilities(given: {
  readonly resources: NodeSettings['node']['resources'];
  /** In force now; they may have been changed at run time. */
  readonly tags: readonly string[];
  /** Isolations and language runtimes that executions may ask for here. */
  readonly runtimes: readonly string[];
}): NodeCapabilityAdvertisement {
  const { resources } = given;
  const hasGpu = resources.gpu !== undefined && resources.gpu !== false;
  return {
    gpu_count: Math.floor(resources.gpu_count ?? (hasGpu ? 1 : 0)),
    vram_gb: resources.vram_gb ?? 0,
    cpu_cores: Math.max(1, Math.floor(resources.cpu_cores ?? os.availableParallelism())),
    available_memory_gb: resources.memory_gb ?? roundedGb(memoryLimitBytes()),
    supported_runtimes: [...new Set(given.runtimes)].sort(),
    tags: [...new Set(given.tags)].sort(),
  };
}

/** The machine's memory, or less where the process is confined. */
export function memoryLimitBytes(): number {
  const confined = process.constrainedMemory();
  return confined > 0 ? Math.min(confined, os.totalmem()) : os.totalmem();
}

const roundedGb = (bytes: number): number => Math.round((bytes / 2 ** 30) * 10) / 10;
