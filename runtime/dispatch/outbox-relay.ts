import { type ActorStore, changesOf, type Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Committed } from './commit-turns.ts';

/**
 * Delivers the messages that partitions owe to others (K3). Each partition has one flush at a time. Messages that fail
 * stay owed, and the next call tries them again.
 */
export class OutboxRelay {
  readonly #store: Pick<ActorStore, 'flushOutbox'>;
  readonly #leaseOf: (partition: Partition) => Lease<Partition> | undefined;
  readonly #owing = new Set<Partition>();
  readonly #flushing = new Set<Partition>();

  /** `leaseOf` returns undefined for a partition that is not served here. */
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
        // Removed before the flush: messages that a commit owes meanwhile are flushed by another pass.
        this.#owing.delete(partition);
        if (lease === undefined) return;
        // Each pass acknowledges what it delivered. The rest needs another pass.
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
  /** Delivers the messages that a partition owes. */
  readonly flush: (source: Partition) => void;
  /** Polls a mailbox. */
  readonly wake: (target: Partition) => void;
  /** Whether two partitions have the same mailbox here. */
  readonly areTogether: (one: Partition, other: Partition) => boolean;
}

/**
 * Longest delay of a lazy message, milliseconds. It is well below the time that lists may lag (R2), and covers several
 * rounds of a quick conversation.
 */
const WITHIN_MS = 50;

/**
 * Messages that are not urgent (`tell` with `lazy`). Those of some tens of milliseconds reach their actors together, in
 * one delivery and one commit, so that they take little processor time from urgent work.
 */
export class LazyDelivery {
  readonly #parts: LazyDeliveryParts;
  readonly #pending = new Map<string, () => void>();

  constructor(parts: LazyDeliveryParts) {
    this.#parts = parts;
  }

  /** Notes the lazy messages of a commit. Returns the partitions that owe urgent messages or older ones. */
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
