import { changesOf } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Committed } from './commit-turns.ts';

export interface UnhurriedParts {
  readonly clock: Clock;
  /** Hands over what a partition owes. */
  readonly flush: (source: Partition) => void;
  /** Looks into a mailbox. */
  readonly ring: (target: Partition) => void;
  /** Whether two partitions have one mailbox here. */
  readonly areTogether: (one: Partition, other: Partition) => boolean;
}

/** Well below what lists may lag (design R2), and several rounds of a quick conversation. */
const WITHIN_MS = 50;

/**
 * Messages that nobody waits for (`tell` with `unhurried`): those of some tens of milliseconds reach their actors
 * together, in one hand-over and one commit, instead of taking the processor beside what is waited for.
 */
export class Unhurried {
  readonly #parts: UnhurriedParts;
  readonly #pending = new Map<string, () => void>();

  constructor(parts: UnhurriedParts) {
    this.#parts = parts;
  }

  /** Sees to what a commit sent; answers the partitions that owe something in a hurry, or since longer ago. */
  note({ commit, owing }: Pick<Committed, 'commit' | 'owing'>): readonly Partition[] {
    const { flush, ring, areTogether } = this.#parts;
    const hurried: Partition[] = [];
    for (const { partition: source, sends } of changesOf(commit)) {
      const others = sends.filter(({ partition }) => !areTogether(source, partition));
      if (owing.includes(source)) {
        const name = `flush ${source}`;
        if (others.some(({ delivery }) => delivery.unhurried !== true)) hurried.push(source);
        else if (others.length > 0) this.#soon(name, () => flush(source));
        else if (!this.#pending.has(name)) hurried.push(source);
        continue;
      }
      for (const { partition, delivery } of others) {
        if (delivery.unhurried === true) this.#soon(`ring ${partition}`, () => ring(partition));
      }
    }
    return hurried;
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
