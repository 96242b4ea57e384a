import { SeededRandom } from '../../kill/random.ts';

/** Choices that only a seed decides: the same seed makes the same workflow on every machine. */
export class Dice extends SeededRandom {
  /** A whole number of both bounds or between. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
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
