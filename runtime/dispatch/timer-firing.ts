import type { ActorStore, Lease } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { TimerWheel } from './timer-wheel.ts';

export interface TimerFiringParts {
  readonly store: ActorStore;
  readonly clock: Clock;
  readonly leaseOf: (partition: Partition) => Lease | undefined;
  /** Messages of timers are in the partition's mailbox. */
  readonly fired: (partition: Partition) => void;
  readonly watch: (firing: Promise<void>) => void;
}

const FIRE_AGAIN_MS = 100;

/** Has the store fire the timers of the partitions held here, when they are due by the store's clock (design K10). */
export class TimerFiring {
  readonly #parts: TimerFiringParts;
  readonly #wheel: TimerWheel;

  constructor(parts: TimerFiringParts) {
    this.#parts = parts;
    this.#wheel = new TimerWheel(parts.clock, (due) => parts.watch(this.#fire(due)));
  }

  note(partition: Partition, at: number): void {
    this.#wheel.note(partition, at);
  }

  drop(partition: Partition): void {
    this.#wheel.drop(partition);
  }

  stop(): void {
    this.#wheel.stop();
  }

  /** The store's clock may differ from ours. */
  async readClock(): Promise<void> {
    const { store, clock } = this.#parts;
    const asked = clock.now();
    const at = await store.now();
    this.#wheel.adjust(at - (asked + clock.now()) / 2);
  }

  async #fire(due: readonly Partition[]): Promise<void> {
    await Promise.all(due.map((partition) => this.#fireOf(partition)));
  }

  /** One by one, since each may have a server of its own (Redis Cluster). */
  async #fireOf(partition: Partition): Promise<void> {
    const lease = this.#parts.leaseOf(partition);
    if (lease === undefined) return;
    try {
      const [next = null] = await this.#parts.store.fireTimers([lease]);
      if (next !== null) this.#wheel.note(partition, next);
      this.#parts.fired(partition);
    } catch (thrown) {
      this.#wheel.note(partition, this.#wheel.now() + FIRE_AGAIN_MS);
      throw thrown;
    }
  }
}
