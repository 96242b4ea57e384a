import type { Address, Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Resident } from './resident.ts';

/**
 * Actors in memory, least recently used first out, idle ones after `idleMs` (design K8): an idle actor costs no heap.
 * Losing an entry never loses state, the store has it.
 */
export class ActorCache {
  readonly #residents = new Map<Address, { resident: Resident; usedAt: number }>();
  readonly #limit: number;
  readonly #idleMs: number;
  readonly #clock: Clock;

  constructor(clock: Clock, limit: number, idleMs: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#residents.size;
  }

  get(address: Address): Resident | undefined {
    const found = this.#residents.get(address);
    if (found === undefined) return undefined;
    // Re-inserting keeps the map in order of use.
    this.#residents.delete(address);
    found.usedAt = this.#clock.monotonic();
    this.#residents.set(address, found);
    return found.resident;
  }

  put(resident: Resident): void {
    this.#residents.delete(resident.address);
    this.#residents.set(resident.address, { resident, usedAt: this.#clock.monotonic() });
    if (this.#residents.size <= this.#limit) return;
    const oldest = this.#residents.keys().next();
    if (oldest.done !== true) this.#residents.delete(oldest.value);
  }

  drop(address: Address): void {
    this.#residents.delete(address);
  }

  dropPartition(partition: Partition): void {
    for (const [address, { resident }] of this.#residents)
      if (resident.partition === partition) this.#residents.delete(address);
  }

  /** Lets go of what was not used for `idleMs`. */
  passivate(): void {
    const before = this.#clock.monotonic() - this.#idleMs;
    for (const [address, { usedAt }] of this.#residents) {
      if (usedAt > before) return;
      this.#residents.delete(address);
    }
  }
}
