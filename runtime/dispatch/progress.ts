import type { Address, Partition } from '../address.ts';
import { positionOf } from '../leases.ts';

/** Number of actors of one log whose last commit is remembered at least: more than the commits of a second or two touch. */
const REMEMBERED = 512;

/** Position after the last message that an actor handled. */
interface Handled {
  readonly position: number;
  readonly partition: Partition;
}

/** An actor that handled a message. */
interface Handler {
  readonly address: Address;
  readonly partition: Partition;
}

/**
 * Records how far a log had come when this node last served it, and which actors its last commits wrote. Comparing it
 * with a later grant shows lost writes: after a failover to a replica that was behind, or a loss of the last second,
 * the store grants the lease with an earlier cursor.
 */
export class Progress {
  #cursor: number;
  #beside: number;
  /** Actors that handled messages lately. When they are `REMEMBERED`, they become the earlier ones. */
  #handled = new Map<Address, Handled>();
  #earlier: ReadonlyMap<Address, Handled> = new Map();

  constructor(cursor: number, beside: number) {
    this.#cursor = cursor;
    this.#beside = beside;
  }

  get cursor(): number {
    return this.#cursor;
  }

  /** How many results were handled beside the mailbox at this cursor. */
  get beside(): number {
    return this.#beside;
  }

  /** Position of the last commit's row in the journal. */
  get position(): number {
    return positionOf(this.#cursor, this.#beside);
  }

  moved(cursor: number, beside: number, actors: Iterable<Handler>): void {
    this.#cursor = cursor;
    this.#beside = beside;
    const { position } = this;
    for (const { address, partition } of actors) this.#handled.set(address, { position, partition });
    if (this.#handled.size < REMEMBERED) return;
    this.#earlier = this.#handled;
    this.#handled = new Map();
  }

  /**
   * How many actors of a partition handled something behind a position. A lower bound when there were more than are
   * remembered.
   */
  actorsBehind(position: number, partition: Partition): number {
    let count = 0;
    for (const last of this.#handled.values()) if (last.partition === partition && last.position > position) count += 1;
    for (const [address, last] of this.#earlier) {
      const isBehind = last.partition === partition && last.position > position;
      if (isBehind && !this.#handled.has(address)) count += 1;
    }
    return count;
  }
}
