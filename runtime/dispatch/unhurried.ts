import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Committed } from './partition-server.ts';

export interface UnhurriedParts {
  readonly clock: Clock;
  /** Hands over what a partition owes. */
  readonly flush: (source: Partition) => void;
  /** Looks into a mailbox. */
  readonly ring: (target: Partition) => void;
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

  /** Sees to what a commit sent; true: something of it is in a hurry or owed since longer ago. */
  note({ commit, owes }: Pick<Committed, 'commit' | 'owes'>): boolean {
    const { lease, sends } = commit;
    const others = sends.filter(({ partition }) => partition !== lease.partition);
    const { flush, ring } = this.#parts;
    if (owes) {
      if (others.some(({ delivery }) => delivery.unhurried !== true)) return true;
      if (others.length > 0) this.#soon(`flush ${lease.partition}`, () => flush(lease.partition));
      return others.length === 0 && !this.#pending.has(`flush ${lease.partition}`);
    }
    for (const { partition, delivery } of others) {
      if (delivery.unhurried === true) this.#soon(`ring ${partition}`, () => ring(partition));
    }
    return false;
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
