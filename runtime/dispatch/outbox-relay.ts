import type { ActorStore, Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';

/**
 * Hands over what partitions owe to others (design K3). One flush of a partition at a time; what fails stays owed and
 * is tried again by whoever asks next.
 */
export class OutboxRelay {
  readonly #store: Pick<ActorStore, 'flushOutbox'>;
  readonly #leaseOf: (partition: Partition) => Lease<Partition> | undefined;
  readonly #owing = new Set<Partition>();
  readonly #flushing = new Set<Partition>();

  /** `leaseOf` answers undefined for a partition that is not served (any more). */
  constructor(store: Pick<ActorStore, 'flushOutbox'>, leaseOf: (partition: Partition) => Lease<Partition> | undefined) {
    this.#store = store;
    this.#leaseOf = leaseOf;
  }

  get owing(): Iterable<Partition> {
    return this.#owing;
  }

  owe(partition: Partition): Promise<void> {
    this.#owing.add(partition);
    return this.flush(partition);
  }

  async flush(partition: Partition): Promise<void> {
    if (this.#flushing.has(partition)) return;
    this.#flushing.add(partition);
    try {
      while (this.#owing.has(partition)) {
        const lease = this.#leaseOf(partition);
        // Removed before the flush: what a commit owes meanwhile is flushed by another pass.
        this.#owing.delete(partition);
        if (lease === undefined) return;
        // Each pass acknowledges what it delivered; the rest needs another.
        if (await this.#flushOnce(lease)) this.#owing.add(partition);
      }
    } finally {
      this.#flushing.delete(partition);
    }
  }

  drop(partition: Partition): void {
    this.#owing.delete(partition);
  }

  async #flushOnce(lease: Lease<Partition>): Promise<boolean> {
    try {
      return await this.#store.flushOutbox(lease);
    } catch (thrown) {
      this.#owing.add(lease.log);
      throw thrown;
    }
  }
}
