import { SeededRandom } from '../../kill/random.ts';

/** Random choices that depend only on a seed: the same seed generates the same workflow on every machine. */
export class Dice extends SeededRandom {
  /** A whole number between both bounds, inclusive. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new Error('no items to choose from');
    return item;
  }

  /** A random subset in the same order; with at least `least` items where there are as many. */
  some<T>(items: readonly T[], least = 0): T[] {
    const kept = items.filter(() => this.chance(0.5));
    return kept.length >= least ? kept : items.slice(0, least);
  }
}
