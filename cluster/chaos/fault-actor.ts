import { addressOf, type Partition, parseAddress } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { type FaultPort, MAX_FREEZE_MS } from '../../usecases/ports/faults.ts';
import { ENDED, type FaultRecord, idOfSignal, REQUESTED, TAKEN } from './fault-record.ts';

/** Delay before the process ends or blocks, so that pending answers are sent. */
const ACT_AFTER_MS = 200;

interface FaultActorParts {
  readonly node: string;
  readonly records: Collection<FaultRecord>;
  readonly faults: FaultPort;
  readonly settings: ChaosSettings;
  readonly clock: Clock;
  readonly warn: (message: string, error: unknown) => void;
}

/** The acting side: takes a recorded fault once, checks the node's own settings, records, acts. */
export class FaultActor {
  readonly #parts: FaultActorParts;

  constructor(parts: FaultActorParts) {
    this.#parts = parts;
  }

  /** Called with each signal to this node. */
  onSignal(text: string): void {
    const id = idOfSignal(text);
    if (id === null) return;
    this.#take(id).catch((error: unknown) => this.#parts.warn(`fault ${id} was not executed`, error));
  }

  async #take(id: string): Promise<void> {
    const { records, node } = this.#parts;
    const asked = await records.get(SYSTEM_TENANT, id);
    if (asked === null || asked.node !== node || asked.version !== REQUESTED) return;
    const taken = { ...asked, version: TAKEN };
    // After a repeated or late signal the record has changed already.
    if (!(await records.replace(taken, REQUESTED))) return;
    try {
      checkFence(this.#parts.settings, node, taken.target_tenant);
      await this.#act(taken);
    } catch (thrown) {
      const { code, message } = toSvcError(thrown);
      if (code === 'internal') this.#parts.warn(`fault ${id} failed`, thrown);
      await this.#end({ ...taken, state: 'refused', code, reason: message });
    }
  }

  async #act(record: FaultRecord): Promise<void> {
    const { faults, clock } = this.#parts;
    switch (record.kind) {
      case 'kill-actor': {
        const { kind, tenant, id } = parseAddress(record.target);
        if (!(await faults.killActor(addressOf(kind, tenant, id)))) throw gone('The actor is not in memory.');
        return this.#end({ ...record, state: 'done' });
      }
      case 'kill-owner': {
        const held = record.partition !== null && (await faults.dropPartition(partitionIn(record.partition)));
        if (!held) throw gone('The node no longer owns the partition.');
        return this.#end({ ...record, state: 'done' });
      }
      case 'kill-node': {
        await this.#end({ ...record, state: 'done' });
        clock.after(ACT_AFTER_MS, () => faults.exit());
        return;
      }
      case 'freeze-node': {
        const ms = Math.min(record.ms ?? 0, MAX_FREEZE_MS);
        await this.#end({ ...record, state: 'done' });
        clock.after(ACT_AFTER_MS, () => faults.stallMs(ms));
      }
    }
  }

  async #end(record: FaultRecord): Promise<void> {
    await this.#parts.records.replace({ ...record, version: ENDED }, TAKEN);
  }
}

const gone = (message: string): SvcError => new SvcError('failed_precondition', message);

function partitionIn(text: string): Partition {
  const colon = text.lastIndexOf(':');
  return `${text.slice(0, colon)}:${Number(text.slice(colon + 1))}`;
}

/** `spec.chaos` of one node. */
export interface ChaosSettings {
  readonly enabled: boolean;
  readonly tenants: readonly string[];
}

/** Throws `forbidden` unless this node allows faults for the tenant. */
export function checkFence({ enabled, tenants }: ChaosSettings, node: string, tenant: string): void {
  if (!enabled) throw new SvcError('forbidden', `spec.chaos.enabled is false on node ${node}.`);
  if (tenants.includes(tenant)) return;
  throw new SvcError('forbidden', `spec.chaos.tenants of node ${node} does not name ${tenant}.`);
}
