import type { Address, Partition } from '../address.ts';
import { positionOf } from '../leases.ts';

/** Actors of one log that are remembered with their last commit: more than a second or two of commits touch. */
const REMEMBERED = 512;

/** An actor that handled something. */
interface Handler {
  readonly address: Address;
  readonly partition: Partition;
}

/**
 * How far a log had come when this node last served it, and which actors the last commits wrote. A store that
 * failed over to a replica that was behind, or lost its last second, gives the lease out again with an earlier cursor.
 */
export class Progress {
  #cursor: number;
  #beside: number;
  /** Position after the last message each actor handled, longest ago first, and where the actor lives. */
  readonly #handled = new Map<Address, { readonly position: number; readonly partition: Partition }>();

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

  moved(cursor: number, beside: number, actors: Iterable<Handler>): void {
    this.#cursor = cursor;
    this.#beside = beside;
    const { position } = this;
    for (const { address, partition } of actors) {
      this.#handled.delete(address);
      this.#handled.set(address, { position, partition });
    }
    for (const actor of this.#handled.keys()) {
      if (this.#handled.size <= REMEMBERED) break;
      this.#handled.delete(actor);
    }
  }

  /** How many actors of a partition handled something behind a position; as many at least when it was more than is remembered. */
  actorsBehind(position: number, partition: Partition): number {
    let count = 0;
    for (const last of this.#handled.values()) if (last.partition === partition && last.position > position) count += 1;
    return count;
  }
}
