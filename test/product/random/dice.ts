import { SeededRandom } from '../../kill/random.ts';

/** Random choices that depend only on a seed: the same seed generates the same workflow on every machine. */
export class Dice extends SeededRandom {
  /** A random subset in the same order; with at least `least` items where there are as many. */
  some<T>(items: readonly T[], least = 0): T[] {
    const kept = items.filter(() => this.chance(0.5));
    return kept.length >= least ? kept : items.slice(0, least);
  }
}
