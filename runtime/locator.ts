import type { Directory } from './actor-store.ts';
import type { Address, Partition } from './address.ts';
import type { Registry } from './registry.ts';

/** Addresses remembered: about 10 MB. */
const REMEMBERED = 50_000;

/**
 * Finds the partition of an address (design K1): its home, unless its kind may live elsewhere and a directory entry in
 * the home's slot says so. An entry never changes while its actor lives, so it is remembered; that an actor has none
 * is remembered only once it was seen at home.
 */
export class Locator {
  readonly #registry: Registry;
  readonly #directory: Directory;
  readonly #known = new Map<Address, Partition>();

  constructor(registry: Registry, directory: Directory) {
    this.#registry = registry;
    this.#directory = directory;
  }

  /** Where it lives when that needs no question. */
  known(address: Address): Partition | undefined {
    if (this.#registry.definitionOf(address)?.placed !== true) return this.#registry.homeOf(address);
    return this.#known.get(address);
  }

  async locate(address: Address): Promise<Partition> {
    const known = this.known(address);
    if (known !== undefined) return known;
    const home = this.#registry.homeOf(address);
    const found = await this.#directory.locate(home, address);
    if (found === null) return home;
    this.note(address, found);
    return found;
  }

  /** Gives an address that has no actor yet a place; the first word counts, also against other processes. */
  async place(address: Address, partition: Partition): Promise<Partition> {
    const placed = await this.#directory.place(this.#registry.homeOf(address), address, partition);
    this.note(address, placed);
    return placed;
  }

  /**
   * The actor at that place was archived: who asks for it goes to its home, and from there to the archive. An entry that
   * names another place by now stays. Answers whether one was removed.
   */
  async unplace(address: Address, partition: Partition): Promise<boolean> {
    if (this.#registry.definitionOf(address)?.placed !== true) return false;
    this.#known.delete(address);
    return this.#directory.unplace(this.#registry.homeOf(address), address, partition);
  }

  note(address: Address, partition: Partition): void {
    if (this.#registry.definitionOf(address)?.placed !== true) return;
    this.#known.delete(address);
    this.#known.set(address, partition);
    if (this.#known.size <= REMEMBERED) return;
    const oldest = this.#known.keys().next();
    if (oldest.done !== true) this.#known.delete(oldest.value);
  }

  forget(address: Address): void {
    this.#known.delete(address);
  }

  /** The store went back: entries that it had may be gone, and made anew elsewhere. */
  forgetAll(): void {
    this.#known.clear();
  }
}
