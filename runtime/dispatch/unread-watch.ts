import type { ActorStore } from '../actor-store.ts';
import type { Partition } from '../address.ts';
import type { Clock } from '../clock.ts';
import { SvcError, toSvcError } from '../errors.ts';
import type { PartitionServer } from './partition-server.ts';

export interface UnreadWatchParts {
  readonly store: Pick<ActorStore, 'backlog'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** An entry that waits longer in a partition that nothing works at is an alarm. */
  readonly unreadMs: number;
  readonly servers: () => readonly PartitionServer[];
  readonly isBusy: (server: PartitionServer) => boolean;
  /** Loses the partition and takes it anew. */
  readonly heal: (server: PartitionServer) => void;
  readonly warn: (message: string, error: unknown) => void;
}

interface Waiting {
  /** The store's cursor while nothing moved. */
  readonly cursor: number;
  /** Seen since, monotonic milliseconds: no clock that is wrong raises an alarm. */
  since: number;
  alarmed: boolean;
}

/**
 * Sees that what is in the mailboxes of partitions held here is read. It asks the store and trusts nothing that this
 * process knows of them, so it also finds what no one has thought of: an alarm, and the partition is taken anew.
 */
export class UnreadWatch {
  readonly #parts: UnreadWatchParts;
  readonly #waiting = new Map<Partition, Waiting>();

  constructor(parts: UnreadWatchParts) {
    this.#parts = parts;
  }

  /** Partitions with an alarm. */
  get alarms(): Partition[] {
    return [...this.#waiting].flatMap(([partition, { alarmed }]) => (alarmed ? [partition] : []));
  }

  async look(): Promise<void> {
    const servers = this.#parts.servers();
    const held = new Set(servers.map(({ lease }) => lease.partition));
    for (const partition of this.#waiting.keys()) if (!held.has(partition)) this.#end(partition, 'is not held here');
    const looks = await Promise.allSettled(servers.map((server) => this.#lookAt(server)));
    const failed = looks.find((look) => look.status === 'rejected');
    // While the store is away nothing can be read, and that is said elsewhere.
    if (failed !== undefined && toSvcError(failed.reason).code !== 'unavailable') throw failed.reason;
  }

  async #lookAt(server: PartitionServer): Promise<void> {
    const { store, clock, unreadMs, isBusy, heal, warn } = this.#parts;
    const { partition } = server.lease;
    const { cursor, tail } = await store.backlog(partition);
    if (server.lost) return;
    const known = this.#waiting.get(partition);
    if (tail <= cursor || isBusy(server) || (known !== undefined && known.cursor !== cursor)) {
      this.#end(partition, 'is read again');
      return;
    }
    const now = clock.monotonic();
    if (known === undefined) this.#waiting.set(partition, { cursor, since: now, alarmed: false });
    else if (now - known.since >= unreadMs) {
      if (!known.alarmed) {
        const waits = `${tail - cursor} entries behind ${cursor} wait for more than ${Math.round(unreadMs / 1_000)} s`;
        warn(`alarm: ${partition} is held and not read, it is taken anew`, new SvcError('internal', waits));
      }
      known.alarmed = true;
      known.since = now;
      heal(server);
    }
  }

  #end(partition: Partition, how: string): void {
    const alarmed = this.#waiting.get(partition)?.alarmed === true;
    this.#waiting.delete(partition);
    if (alarmed) this.#parts.warn(`the alarm is over: ${partition} ${how}`, undefined);
  }
}
