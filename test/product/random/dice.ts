/** Numbers that only a seed decides (mulberry32): the same seed makes the same workflow on every machine. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, without 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number of both bounds or between. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  chance(of: number): boolean {
    return this.fraction() < of;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** Some of the items, each once, in their order; at least `least` where there are as many. */
  some<T>(items: readonly T[], least = 0): T[] {
    const kept = items.filter(() => this.chance(0.5));
    return kept.length >= least ? kept : items.slice(0, least);
  }
}
