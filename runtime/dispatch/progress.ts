import type { Address } from '../address.ts';
import { positionOf } from '../leases.ts';

/** Actors of one partition that are remembered with their last commit: more than a second or two of commits touch. */
const REMEMBERED = 512;

/**
 * How far a partition had come when this node last served it, and which actors the last commits wrote. A store that
 * failed over to a replica that was behind, or lost its last second, gives the lease out again with an earlier cursor.
 */
export class Progress {
  #cursor: number;
  #beside: number;
  /** Position after the last message each actor handled, longest ago first. */
  readonly #handled = new Map<Address, number>();

  constructor(cursor: number, beside: number) {
    this.#cursor = cursor;
    this.#beside = beside;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** Results handled beside the mailbox since the cursor stands there. */
  get beside(): number {
    return this.#beside;
  }

  /** Of the last commit's row in the journal. */
  get position(): number {
    return positionOf(this.#cursor, this.#beside);
  }

  moved(cursor: number, beside: number, actors: Iterable<Address>): void {
    this.#cursor = cursor;
    this.#beside = beside;
    for (const actor of actors) {
      this.#handled.delete(actor);
      this.#handled.set(actor, this.position);
    }
    for (const actor of this.#handled.keys()) {
      if (this.#handled.size <= REMEMBERED) break;
      this.#handled.delete(actor);
    }
  }

  /** How many actors handled something behind a position; as many at least when it was more than is remembered. */
  actorsBehind(position: number): number {
    let count = 0;
    for (const last of this.#handled.values()) if (last > position) count += 1;
    return count;
  }
}
