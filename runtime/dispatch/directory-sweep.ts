import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Locator } from '../locator.ts';

interface Entry {
  readonly address: Address;
  readonly partition: Partition;
}

/**
 * Removes directory entries that lead nowhere (design K1): their client died before its first message, or their actor
 * was archived and the node died before the entry went. An entry goes only when two looks, far apart, found no actor
 * and no message that could still make one.
 */
export class DirectorySweep {
  readonly #store: Pick<ActorStore, 'placed' | 'place' | 'load' | 'backlog'>;
  readonly #locator: Locator;
  #suspects = new Set<Address>();

  constructor(store: Pick<ActorStore, 'placed' | 'place' | 'load' | 'backlog'>, locator: Locator) {
    this.#store = store;
    this.#locator = locator;
  }

  /** One look at the entries whose homes this node holds; answers how many were removed. */
  async sweep(homes: Iterable<Partition>): Promise<number> {
    const suspects = new Set<Address>();
    let removed = 0;
    for (const home of homes) {
      let page: string | null = null;
      do {
        const { entries, next } = await this.#store.placed(home, page);
        for (const { address, partition } of await this.#leadNowhere(entries)) {
          if (!this.#suspects.has(address)) suspects.add(address);
          else if (await this.#remove(home, address, partition)) removed += 1;
        }
        page = next;
      } while (page !== null);
    }
    this.#suspects = suspects;
    return removed;
  }

  /** Of one page: one load and at most one look at the mailbox for each partition that its entries name. */
  async #leadNowhere(entries: readonly Entry[]): Promise<Entry[]> {
    const found: Entry[] = [];
    for (const [partition, there] of Map.groupBy(entries, (entry) => entry.partition)) {
      const records = await this.#store.load(
        partition,
        there.map(({ address }) => address),
      );
      const missing = there.filter((_, index) => (records[index] ?? null) === null);
      if (missing.length === 0) continue;
      const { cursor, tail } = await this.#store.backlog(partition);
      if (cursor === tail) found.push(...missing);
    }
    return found;
  }

  /**
   * Removes the entry while it says what was looked at. A first message that arrived between the look and the removal
   * makes an actor there: a second look finds it, and the entry is put back.
   */
  async #remove(home: Partition, address: Address, partition: Partition): Promise<boolean> {
    if (!(await this.#locator.unplace(address, partition))) return false;
    if ((await this.#leadNowhere([{ address, partition }])).length > 0) return true;
    await this.#store.place(home, address, partition);
    return false;
  }
}
