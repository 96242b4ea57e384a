import { type Address, hashOf } from '../address.ts';
import type { Clock } from '../clock.ts';

/** Time between two reads of a stream, milliseconds. It limits the delay when a wake-up gets lost. */
export const LOOK_EVERY_MS = 2_000;

/** A follower that waits until its actor has news. */
export interface Resting {
  /** Number of the last event that it has. */
  readonly seen: number;
  /** Reads the stream for itself. */
  look(): void;
}

interface LooksParts {
  readonly clock: Clock;
  /** Numbers of at most `limit` events behind `after` that are in the store. */
  readonly numbers: (address: Address, after: number, limit: number) => Promise<readonly number[]>;
}

interface Group {
  readonly followers: Set<Resting>;
  disarm: () => void;
}

/**
 * Reads the streams of actors for all waiting followers of this process. Each stream is read once in two seconds, however many
 * follow it, and its followers are woken only if it has changed. The time of an actor's reads comes from its address: derived
 * from the last answers, all actors whose answers came together would be read together from then on.
 */
export class SharedLooks {
  readonly #parts: LooksParts;
  readonly #groups = new Map<Address, Group>();

  constructor(parts: LooksParts) {
    this.#parts = parts;
  }

  rest(address: Address, follower: Resting): void {
    const known = this.#groups.get(address);
    if (known !== undefined) {
      known.followers.add(follower);
      return;
    }
    const group: Group = { followers: new Set([follower]), disarm: () => {} };
    this.#groups.set(address, group);
    this.#arm(address, group, Math.floor(this.#momentNow(address)) + 1);
  }

  leave(address: Address, follower: Resting): void {
    const group = this.#groups.get(address);
    if (group?.followers.delete(follower) === true && group.followers.size === 0) this.#drop(address, group);
  }

  /** Number of two-second periods that have passed, shifted by a fraction that depends on the address. */
  #momentNow(address: Address): number {
    return (this.#parts.clock.monotonic() - (hashOf(address) % LOOK_EVERY_MS)) / LOOK_EVERY_MS;
  }

  #arm(address: Address, group: Group, moment: number): void {
    const { clock } = this.#parts;
    const pauseMs = Math.max(0, (moment - this.#momentNow(address)) * LOOK_EVERY_MS);
    group.disarm = clock.after(pauseMs, () => void this.#look(address, group, moment));
  }

  async #look(address: Address, group: Group, moment: number): Promise<void> {
    if (!(await this.#isUnchanged(address, group))) {
      if (this.#groups.get(address) === group) this.#drop(address, group);
      for (const follower of group.followers) follower.look();
      return;
    }
    // A process that was busy for long does not read twice.
    const next = Math.max(moment, Math.floor(this.#momentNow(address))) + 1;
    if (this.#groups.get(address) === group) this.#arm(address, group, next);
  }

  /**
   * Whether the stream ends with the event that all followers have. With no event seen yet, the actor may have begun and left the store.
   */
  async #isUnchanged(address: Address, { followers }: Group): Promise<boolean> {
    let seen = Number.POSITIVE_INFINITY;
    for (const follower of followers) seen = Math.min(seen, follower.seen);
    if (seen === 0) return false;
    try {
      const found = await this.#parts.numbers(address, seen - 1, 2);
      return found.length === 1 && found[0] === seen;
    } catch {
      // Each follower reads on its own, and the one whose read fails reports it.
      return false;
    }
  }

  #drop(address: Address, group: Group): void {
    group.disarm();
    this.#groups.delete(address);
  }
}
