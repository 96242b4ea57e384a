import type { Partition } from '../../runtime/address.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';
import type { FaultPort } from './api.ts';

/** Faults on purpose, done to this process and its kernel. */
export function kernelFaults(runtime: Runtime, fleet: Pick<FleetPlacement, 'holderOf'>): FaultPort {
  return {
    killActor: (address) => runtime.dropActor(address),
    dropPartition: async (partition) => runtime.dropPartition(partition),
    stallMs: (ms) => runtime.freeze(ms),
    exit() {
      process.kill(process.pid, 'SIGKILL');
      throw new Error('unreachable: the process was killed');
    },
    async ownerOf(address) {
      const partition: Partition = await runtime.client.partitionOf(address);
      return { partition, node: await fleet.holderOf(partition) };
    },
  };
}
