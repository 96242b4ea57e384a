import type { Address } from '../address.ts';

/** Actors of one partition that are remembered with their last commit: more than a second or two of commits touch. */
const REMEMBERED = 512;

/**
 * How far a partition had come when this node last served it, and which actors the last commits wrote. A store that
 * failed over to a replica that was behind, or lost its last second, gives the lease out again with an earlier cursor.
 */
export class Progress {
  #cursor: number;
  /** Sequence number of the last message each actor handled, longest ago first. */
  readonly #handled = new Map<Address, number>();

  constructor(cursor: number) {
    this.#cursor = cursor;
  }

  get cursor(): number {
    return this.#cursor;
  }

  moved(cursor: number, actors: Iterable<Address>): void {
    this.#cursor = cursor;
    for (const actor of actors) {
      this.#handled.delete(actor);
      this.#handled.set(actor, cursor);
    }
    for (const actor of this.#handled.keys()) {
      if (this.#handled.size <= REMEMBERED) break;
      this.#handled.delete(actor);
    }
  }

  /** How many actors handled something behind `cursor`; as many at least when it was more than is remembered. */
  actorsBehind(cursor: number): number {
    let count = 0;
    for (const last of this.#handled.values()) if (last > cursor) count += 1;
    return count;
  }
}
