import type { ActorStore } from '../actor-store.ts';
import type { Address, Partition } from '../address.ts';
import type { Locator } from '../locator.ts';

/**
 * Removes directory entries that lead nowhere (design K1): their client died before its first message, or their actor
 * was archived and the node died before the entry went. An entry goes only when two looks, far apart, found no actor
 * and no message that could still make one.
 */
export class DirectorySweep {
  readonly #store: Pick<ActorStore, 'placed' | 'load' | 'backlog'>;
  readonly #locator: Locator;
  #suspects = new Set<Address>();

  constructor(store: Pick<ActorStore, 'placed' | 'load' | 'backlog'>, locator: Locator) {
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
        for (const { address, partition } of entries) {
          if (!(await this.#leadsNowhere(address, partition))) continue;
          if (this.#suspects.has(address)) {
            await this.#locator.unplace(address);
            removed += 1;
          } else suspects.add(address);
        }
        page = next;
      } while (page !== null);
    }
    this.#suspects = suspects;
    return removed;
  }

  async #leadsNowhere(address: Address, partition: Partition): Promise<boolean> {
    const [record] = await this.#store.load(partition, [address]);
    if (record !== null) return false;
    const { cursor, tail } = await this.#store.backlog(partition);
    return cursor === tail;
  }
}
