import { toSvcError } from '../errors.ts';
import type { Assignment, Placement } from '../placement.ts';

export interface SeatParts {
  readonly placement: Placement;
  readonly warn: (message: string, error: unknown) => void;
}

export interface SeatEvents {
  /** The node lease was lost: what was held under it is given up. */
  lost(): void;
  /** Another process runs under this node's id. */
  superseded(): void;
}

const NOTHING: Assignment = { wanted: new Set(), queues: [] };

/** This node's seat in the fleet: what it should serve, asked anew, one question at a time. */
export class Seat {
  readonly #parts: SeatParts;
  readonly #events: SeatEvents;
  #assignment: Assignment = NOTHING;
  #asking: Promise<void> = Promise.resolve();
  /** A question that has not been put yet, for all who come before it is. */
  #next: Promise<void> | null = null;
  #leaving = false;

  constructor(parts: SeatParts, events: SeatEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  /** As last answered. */
  get assignment(): Assignment {
    return this.#assignment;
  }

  join(): Promise<void> {
    return this.#parts.placement.join();
  }

  /** From now on a lost node lease is not taken again. */
  leaving(): void {
    this.#leaving = true;
  }

  /** A whole fleet may ring at once: who comes while a question is under way is answered by one more. */
  ask(): Promise<void> {
    this.#next ??= this.#asking.then(() => {
      this.#next = null;
      const asked = this.#ask();
      this.#asking = asked.catch(() => undefined);
      return asked;
    });
    return this.#next;
  }

  async #ask(): Promise<void> {
    const { placement, warn } = this.#parts;
    try {
      this.#assignment = await placement.assign();
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'conflict') {
        // For good: as a member that takes nothing it would keep others from serving its share.
        this.#leaving = true;
        this.#assignment = NOTHING;
        this.#events.superseded();
      }
      if (error.code !== 'lease_lost') throw thrown;
      this.#events.lost();
      if (this.#leaving) throw thrown;
      warn('the node lease was lost; every partition is given up and the node joins again', error);
      await placement.join();
      this.#assignment = await placement.assign();
    }
  }
}
