import type { Partition } from '../address.ts';

interface Known {
  readonly at: number;
  /** Monotonic ms. */
  readonly heardAt: number;
}

/**
 * The clock of the server that has a partition, as far as this process knows it: what it said last, plus the monotonic
 * time since its answer came. So it is behind that clock by the way of an answer at most, and not ahead of it unless
 * that was set back. Messages that the store takes once name when they were sent first by it: the store refuses what is
 * older than the ids that it remembers.
 */
export class ServerTimes {
  readonly #ask: (partition: Partition) => Promise<number>;
  /** One server has all partitions. */
  readonly #single: boolean;
  readonly #known = new Map<string, Known>();

  constructor(ask: (partition: Partition) => Promise<number>, single: boolean) {
    this.#ask = ask;
    this.#single = single;
  }

  /** Null when the server has not said it yet. */
  now(partition: Partition): number | null {
    const known = this.#known.get(this.#serverOf(partition));
    return known === undefined ? null : Math.floor(known.at + performance.now() - known.heardAt);
  }

  /** The same; the server is asked when it has not said it yet. */
  async nowOrAsked(partition: Partition): Promise<number> {
    return this.now(partition) ?? (await this.ask(partition));
  }

  /** The server said its time just now. */
  tell(partition: Partition, at: number): void {
    this.#known.set(this.#serverOf(partition), { at, heardAt: performance.now() });
  }

  async ask(partition: Partition): Promise<number> {
    const at = await this.#ask(partition);
    this.tell(partition, at);
    return at;
  }

  #serverOf(partition: Partition): string {
    return this.#single ? '' : partition;
  }
}
