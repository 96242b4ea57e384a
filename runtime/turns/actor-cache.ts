import type { Address, Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { Resident } from './work.ts';

export interface CacheBounds {
  readonly actors: number;
  /** Of encoded states; decoded they take some two to three times that. The actor used last stays whatever its size. */
  readonly bytes: number;
  readonly idleMs: number;
}

interface Held {
  readonly resident: Resident;
  /** As it was counted: a resident's size changes with its commits. */
  readonly size: number;
  usedAt: number;
}

/**
 * Actors in memory, least recently used first out, idle ones after `idleMs` (K8): an idle actor costs no heap, and
 * many large ones no more than a bound. Losing an entry never loses state, the store has it.
 */
export class ActorCache {
  readonly #residents = new Map<Address, Held>();
  readonly #bounds: CacheBounds;
  readonly #clock: Clock;
  #bytes = 0;

  constructor(clock: Clock, bounds: CacheBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#residents.size;
  }

  /** Of encoded states. */
  get bytes(): number {
    return this.#bytes;
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
    const { address, size } = resident;
    this.drop(address);
    this.#residents.set(address, { resident, size, usedAt: this.#clock.monotonic() });
    this.#bytes += size;
    const { actors, bytes } = this.#bounds;
    for (const oldest of this.#residents.keys()) {
      if (oldest === address || (this.#residents.size <= actors && this.#bytes <= bytes)) return;
      this.drop(oldest);
    }
  }

  drop(address: Address): void {
    const held = this.#residents.get(address);
    if (held === undefined) return;
    this.#residents.delete(address);
    this.#bytes -= held.size;
  }

  dropPartitions(partitions: ReadonlySet<Partition>): void {
    for (const [address, { resident }] of this.#residents) if (partitions.has(resident.partition)) this.drop(address);
  }

  /** Lets go of what was not used for `idleMs`. */
  passivate(): void {
    const before = this.#clock.monotonic() - this.#bounds.idleMs;
    for (const [address, { usedAt }] of this.#residents) {
      if (usedAt > before) return;
      this.drop(address);
    }
  }
}
