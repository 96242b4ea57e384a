import type { ActorStore, Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { sweepEffects } from '../effects/effect-sweep.ts';

/** Which partitions of this node have unsettled effects, and the sweeps that keep those running (design E1). */
export class PartitionSweeps {
  readonly #store: Pick<ActorStore, 'openEffects' | 'now'>;
  readonly #queue: Pick<EffectQueue, 'enqueue'>;
  readonly #leaseOf: (partition: Partition) => Lease | undefined;
  /** The grant of a lease until its first sweep is done, then null. */
  readonly #pending = new Map<Partition, string | null>();

  constructor(
    store: Pick<ActorStore, 'openEffects' | 'now'>,
    queue: Pick<EffectQueue, 'enqueue'>,
    leaseOf: (partition: Partition) => Lease | undefined,
  ) {
    this.#store = store;
    this.#queue = queue;
    this.#leaseOf = leaseOf;
  }

  /** The last holder may have left some. */
  acquired(lease: Lease): Promise<void> {
    this.#pending.set(lease.partition, lease.grant);
    return this.#sweepOne(lease.partition);
  }

  /** An effect was opened. */
  note(partition: Partition): void {
    if (!this.#pending.has(partition)) this.#pending.set(partition, null);
  }

  drop(partition: Partition): void {
    this.#pending.delete(partition);
  }

  async sweep(): Promise<void> {
    for (const partition of [...this.#pending.keys()]) await this.#sweepOne(partition);
  }

  async #sweepOne(partition: Partition): Promise<void> {
    const grant = this.#pending.get(partition);
    if (grant === undefined) return;
    // Taken off before the look: an effect opened meanwhile puts it back.
    this.#pending.delete(partition);
    try {
      const rows = await this.#store.openEffects(partition);
      if (rows.length === 0) return;
      await sweepEffects(this.#store, this.#queue, partition, grant === null ? {} : { acquired: true, grant });
      this.#keep(partition, null);
    } catch (thrown) {
      this.#keep(partition, grant);
      throw thrown;
    }
  }

  #keep(partition: Partition, grant: string | null): void {
    if (this.#leaseOf(partition) === undefined) return;
    // A lease granted meanwhile has a first sweep of its own to come.
    this.#pending.set(partition, this.#pending.get(partition) ?? grant);
  }
}
