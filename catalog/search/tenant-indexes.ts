import type { TenantIndex } from './tenant-index.ts';

/** Indexes by key. Those that were used longest ago go when together they hold too much. */
export class TenantIndexes {
  readonly #indexes = new Map<string, TenantIndex>();
  readonly #maxEntries: number;

  /** `maxEntries`: of all indexes together; the one in use may be larger. */
  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get(key: string, open: () => TenantIndex): TenantIndex {
    const index = this.#indexes.get(key) ?? open();
    // A Map keeps the order in which keys came: this one is the newest now.
    this.#indexes.delete(key);
    this.#indexes.set(key, index);
    return index;
  }

  /** Call it when indexes may have grown. */
  trim(): void {
    let entries = 0;
    for (const { words } of this.#indexes.values()) entries += 1 + words.size;
    for (const [key, { words }] of this.#indexes) {
      if (entries <= this.#maxEntries || this.#indexes.size === 1) return;
      this.#indexes.delete(key);
      entries -= 1 + words.size;
    }
  }
}
