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

/** Versions of a record, so that each step is taken once: by the caller, by the node that acts, by what it did. */
export const REQUESTED = 1;

export const TAKEN = 2;

export const ENDED = 3;

/**
 * A fault on record. All lie in tenant `svc-system`, since they are operators' business; `target_tenant` is whose actor
 * it was.
 */
export interface FaultRecord extends StoredDocument {
  readonly kind: Fault['kind'];
  readonly target: string;
  readonly target_tenant: string;
  /** Of `kill-owner`. */
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

const WORD = 'chaos:';

/** The word that tells a node to look at a record (`Members.signal`). It carries no order itself. */
export const signalOf = (id: string): string => `${WORD}${id}`;

/** Null for words of others. */
export const idOfSignal = (word: string): string | null =>
  word.startsWith(WORD) && word.length <= 200 ? word.slice(WORD.length) : null;

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
