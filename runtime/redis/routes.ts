import type { Log, Partition, SharedLog } from '../address.ts';

/**
 * Which log takes a partition's messages, as far as this process was told. Nothing rests on it: a log that a partition does
 * not share any more refuses the messages and says where they go, or that it does not know.
 */
export class Routes {
  readonly #shared = new Map<Partition, SharedLog>();

  of(partition: Partition): Log {
    return this.#shared.get(partition) ?? partition;
  }

  /** The partition shares that log. */
  learn(partition: Partition, log: SharedLog): void {
    this.#shared.set(partition, log);
  }

  /** The log was closed: its partitions know where their messages go. */
  forget(partition: Partition): void {
    this.#shared.delete(partition);
  }
}
