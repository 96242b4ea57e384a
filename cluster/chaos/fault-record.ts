import type { Partition } from '../../runtime/address.ts';
import type { CollectionSpec, StoredDocument } from '../../runtime/documents.ts';
import type { ErrorCode } from '../../runtime/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Fault, FaultPort } from '../../usecases/ports/faults.ts';
import type { FleetPlacement } from '../placement/fleet-placement.ts';

export const CHAOS_FAULTS: CollectionSpec = {
  name: 'chaos_faults',
  unique: [],
  indexes: [['at'], ['kind', 'state']],
};

/** Versions of a record: written by the caller, taken by the acting node, ended with an outcome. Each step happens once. */
export const REQUESTED = 1;

export const TAKEN = 2;

export const ENDED = 3;

/**
 * A recorded fault. Records are in tenant `svc-system`, for operators; `target_tenant` is the tenant of the actor.
 */
export interface FaultRecord extends StoredDocument {
  readonly kind: Fault['kind'];
  readonly target: string;
  readonly target_tenant: string;
  /** The partition of `kill-owner`; else null. */
  readonly partition: string | null;
  readonly by: string;
  readonly at: string;
  readonly state: Fault['state'];
  readonly node: string;
  readonly code: ErrorCode | null;
  readonly reason: string | null;
  readonly ms: number | null;
}

export function faultOf(record: FaultRecord): Fault {
  const { id, kind, target, target_tenant, by, at, state, node, reason, ms } = record;
  return { id, kind, target, tenant: target_tenant, by, at, state, node, reason, ms };
}

const PREFIX = 'chaos:';

/** The signal that makes a node read a record (`Members.signal`). */
export const signalOf = (id: string): string => `${PREFIX}${id}`;

/** Null for other signals. */
export const idOfSignal = (text: string): string | null =>
  text.startsWith(PREFIX) && text.length <= 200 ? text.slice(PREFIX.length) : null;

/** Faults of this process and its kernel. */
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
