import type { ActorStore, Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { type HandedOver, sweepEffects } from '../effects/effect-sweep.ts';

/** Which partitions of this node have unsettled effects, and the sweeps that keep those running (design E1). */
export class PartitionSweeps {
  readonly #store: Pick<ActorStore, 'openEffects' | 'now'>;
  readonly #queue: Pick<EffectQueue, 'enqueue'>;
  readonly #leaseOf: (partition: Partition) => Lease<Partition> | undefined;
  readonly #isLive: (runner: string) => boolean;
  readonly #pending = new Set<Partition>();
  /** What was handed to the queue since the lease was taken. */
  readonly #handed = new Map<Partition, Map<string, HandedOver>>();

  constructor(
    store: Pick<ActorStore, 'openEffects' | 'now'>,
    queue: Pick<EffectQueue, 'enqueue'>,
    leaseOf: (partition: Partition) => Lease<Partition> | undefined,
    isLive: (runner: string) => boolean,
  ) {
    this.#store = store;
    this.#queue = queue;
    this.#leaseOf = leaseOf;
    this.#isLive = isLive;
  }

  /** The last holder may have left some, and have died with jobs in its hands. */
  acquired(lease: Lease<Partition>): Promise<void> {
    this.#pending.add(lease.log);
    this.#handed.delete(lease.log);
    return this.#sweepOne(lease.log, lease.grant);
  }

  /** An effect was opened. */
  note(partition: Partition): void {
    this.#pending.add(partition);
  }

  drop(partition: Partition): void {
    this.#pending.delete(partition);
    this.#handed.delete(partition);
  }

  /** `died`: a life that ended, whose jobs may be stuck. */
  async sweep(died?: string): Promise<void> {
    for (const partition of [...this.#pending]) await this.#sweepOne(partition, died);
  }

  async #sweepOne(partition: Partition, token?: string): Promise<void> {
    // Taken off before the look: an effect opened meanwhile puts it back.
    if (!this.#pending.delete(partition)) return;
    try {
      const rows = await this.#store.openEffects(partition);
      if (rows.length === 0) {
        this.#handed.delete(partition);
        return;
      }
      const handed = this.#handed.get(partition) ?? new Map<string, HandedOver>();
      this.#handed.set(partition, handed);
      const store = { openEffects: async () => rows, now: () => this.#store.now(partition) };
      await sweepEffects(store, this.#queue, partition, { isLive: this.#isLive, token, handed });
      this.#keep(partition);
    } catch (thrown) {
      this.#keep(partition);
      throw thrown;
    }
  }

  #keep(partition: Partition): void {
    if (this.#leaseOf(partition) !== undefined) this.#pending.add(partition);
  }
}
