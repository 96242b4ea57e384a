/** Seeded random numbers (mulberry32), so that a run's kills can be repeated with SVC_SEED. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(from: number, to: number): number {
    return Math.floor(from + this.fraction() * (to - from));
  }

  /** A whole number between both bounds, inclusive. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.whole(0, items.length - 1)];
    if (item === undefined) throw new Error('no items to choose from');
    return item;
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }
}

/** SVC_SEED, else one from the clock. */
export function seedOf(env: NodeJS.ProcessEnv): number {
  const given = Number(env.SVC_SEED);
  return env.SVC_SEED !== undefined && Number.isSafeInteger(given) ? given : Date.now() % 1_000_000;
}
