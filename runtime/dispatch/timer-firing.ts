import type { ActorStore } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import type { LogServer } from './log-server.ts';
import type { StoreClock } from './store-clock.ts';

interface TimerFiringParts {
  readonly store: ActorStore;
  readonly clock: Clock;
  /** Servers of the logs that are read here. */
  readonly logs: () => readonly LogServer[];
  readonly serverOf: (partition: Partition) => LogServer<Partition> | undefined;
  /** The clock of the store that has the partition. */
  readonly clockOf: (partition: Partition) => StoreClock | undefined;
  /** Called when messages of timers are in the partition's mailbox. */
  readonly fired: (partition: Partition) => void;
  readonly watch: (firing: Promise<void>) => void;
}

const FIRE_AGAIN_MS = 100;

/** Makes the store fire the timers of the held partitions when they are due by the store's clock (K10). */
export class TimerFiring {
  readonly #parts: TimerFiringParts;
  readonly #wheel: TimerWheel;

  constructor(parts: TimerFiringParts) {
    this.#parts = parts;
    const nowOf = (partition: Partition): number => parts.clockOf(partition)?.now() ?? parts.clock.now();
    this.#wheel = new TimerWheel(parts.clock, nowOf, (due) => parts.watch(this.#fire(due)));
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

  /** Reads the clocks of all logs again: each may be on a server of its own (Redis Cluster), and clocks may be set. */
  async readClocks(): Promise<void> {
    const readings = await Promise.allSettled(this.#parts.logs().map((server) => this.#readClock(server)));
    this.#wheel.adjust();
    const failed = readings.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #readClock({ lease, clock }: Pick<LogServer, 'lease' | 'clock'>): Promise<void> {
    clock.tell(await this.#parts.store.now(lease.log));
  }

  async #fire(due: readonly Partition[]): Promise<void> {
    await Promise.all(due.map((partition) => this.#fireOf(partition)));
  }

  /** Fires the timers of one partition, because each may be on a server of its own (Redis Cluster). */
  async #fireOf(partition: Partition): Promise<void> {
    const server = this.#parts.serverOf(partition);
    const clock = this.#parts.clockOf(partition);
    if (server === undefined || clock === undefined) return;
    try {
      const [next = null] = await this.#parts.store.fireTimers([server.lease]);
      // Due by the time known here and not by the store: its clock was set back. Calling again at once would loop
      // without end.
      if (next !== null && next <= clock.now()) await this.#readClock({ lease: server.lease, clock });
      if (next !== null) this.#wheel.note(partition, next);
      this.#parts.fired(partition);
    } catch (thrown) {
      this.#wheel.note(partition, clock.now() + FIRE_AGAIN_MS);
      throw thrown;
    }
  }
}

/**
 * When the next timer of each partition is due, and one clock timer for the earliest of them. The store holds the
 * timers; this class only knows when to call the store. A due time is removed before the store fires it, so a time
 * noted meanwhile stays. The store's answer is noted like any other.
 */
export class TimerWheel {
  readonly #clock: Clock;
  readonly #nowOf: (partition: Partition) => number;
  readonly #fire: (due: readonly Partition[]) => void;
  readonly #next = new Map<Partition, number>();
  /** Monotonic milliseconds. */
  #armedFor = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => {};

  /** `nowOf` returns the known time of the store that holds the partition, which decides when timers are due. */
  constructor(clock: Clock, nowOf: (partition: Partition) => number, fire: (due: readonly Partition[]) => void) {
    this.#clock = clock;
    this.#nowOf = nowOf;
    this.#fire = fire;
  }

  /** Notes that a timer of the partition is due at `at` (Unix ms, store's clock). An earlier known time stays. */
  note(partition: Partition, at: number): void {
    const known = this.#next.get(partition);
    if (known !== undefined && known <= at) return;
    this.#next.set(partition, at);
    if (this.#clock.monotonic() + this.#delayOf(partition, at) < this.#armedFor) this.#arm();
  }

  /** Sets the clock timer again after the stores' times were read. */
  adjust(): void {
    this.#arm();
  }

  drop(partition: Partition): void {
    this.#next.delete(partition);
  }

  stop(): void {
    this.#cancel();
    this.#next.clear();
  }

  #arm(): void {
    this.#cancel();
    this.#armedFor = Number.POSITIVE_INFINITY;
    let delay = Number.POSITIVE_INFINITY;
    for (const [partition, at] of this.#next) delay = Math.min(delay, this.#delayOf(partition, at));
    if (delay === Number.POSITIVE_INFINITY) return;
    this.#armedFor = this.#clock.monotonic() + delay;
    this.#cancel = this.#clock.after(delay, () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      const due = [...this.#next].flatMap(([partition, at]) => (at <= this.#nowOf(partition) ? [partition] : []));
      for (const partition of due) this.#next.delete(partition);
      if (due.length > 0) this.#fire(due);
      this.#arm();
    });
  }

  /** The store's clock decides. One extra millisecond avoids a call just before the store agrees. */
  #delayOf(partition: Partition, at: number): number {
    return Math.max(0, at - this.#nowOf(partition)) + 1;
  }
}
