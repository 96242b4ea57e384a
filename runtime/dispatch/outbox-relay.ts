import { type ActorStore, changesOf, type Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Committed } from './commit-turns.ts';

/**
 * Hands over what partitions owe to others (K3). One flush of a partition at a time; what fails stays owed and
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

interface LazyDeliveryParts {
  readonly clock: Clock;
  /** Hands over what a partition owes. */
  readonly flush: (source: Partition) => void;
  /** Looks into a mailbox. */
  readonly wake: (target: Partition) => void;
  /** Whether two partitions have one mailbox here. */
  readonly areTogether: (one: Partition, other: Partition) => boolean;
}

/** Well below what lists may lag (R2), and several rounds of a quick conversation. */
const WITHIN_MS = 50;

/**
 * Messages that nobody waits for (`tell` with `lazy`): those of some tens of milliseconds reach their actors
 * together, in one hand-over and one commit, instead of taking the processor beside what is waited for.
 */
export class LazyDelivery {
  readonly #parts: LazyDeliveryParts;
  readonly #pending = new Map<string, () => void>();

  constructor(parts: LazyDeliveryParts) {
    this.#parts = parts;
  }

  /** Sees to what a commit sent; answers the partitions that owe something in a hurry, or since longer ago. */
  note({ commit, owing }: Pick<Committed, 'commit' | 'owing'>): readonly Partition[] {
    const { flush, wake, areTogether } = this.#parts;
    const eager: Partition[] = [];
    for (const { partition: source, sends } of changesOf(commit)) {
      const others = sends.filter(({ partition }) => !areTogether(source, partition));
      if (owing.includes(source)) {
        const name = `flush ${source}`;
        if (others.some(({ delivery }) => delivery.lazy !== true)) eager.push(source);
        else if (others.length > 0) this.#soon(name, () => flush(source));
        else if (!this.#pending.has(name)) eager.push(source);
        continue;
      }
      for (const { partition, delivery } of others) {
        if (delivery.lazy === true) this.#soon(`wake ${partition}`, () => wake(partition));
      }
    }
    return eager;
  }

  stop(): void {
    for (const cancel of this.#pending.values()) cancel();
    this.#pending.clear();
  }

  #soon(name: string, act: () => void): void {
    if (this.#pending.has(name)) return;
    const cancel = this.#parts.clock.after(WITHIN_MS, () => {
      this.#pending.delete(name);
      act();
    });
    this.#pending.set(name, cancel);
  }
}
