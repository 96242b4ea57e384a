import { isSharedLog, type Log, type Partition, type SharedLog } from '../address.ts';
import type { LogServer } from './log-server.ts';

/** A log that partitions of this node share. */
export interface Shared {
  readonly tag: string;
  readonly server: LogServer<SharedLog>;
  /** Servers of the partitions that share it. */
  readonly homes: Map<Partition, LogServer<Partition>>;
  /** The numbers of a partition are ahead of the log's: it cannot share this one. */
  isBehind: boolean;
}

/** The logs that partitions of this node share now: at most one for each tag (`SharedLogs.tagOf`). */
export class LogsShared {
  readonly #byTag = new Map<string, Shared>();

  get all(): readonly Shared[] {
    return [...this.#byTag.values()];
  }

  get(tag: string): Shared | undefined {
    return this.#byTag.get(tag);
  }

  add(tag: string, server: LogServer<SharedLog>): Shared {
    const shared: Shared = { tag, server, homes: new Map(), isBehind: false };
    this.#byTag.set(tag, shared);
    return shared;
  }

  of(log: Log): Shared | undefined {
    return isSharedLog(log) ? this.all.find(({ server }) => server.lease.log === log) : undefined;
  }

  /** The one that a partition shares, whose tag it has. */
  joinedBy(partition: Partition, tag: string): Shared | undefined {
    const shared = this.#byTag.get(tag);
    return shared?.homes.has(partition) === true ? shared : undefined;
  }

  /** Those that one of these servers gave its messages to. */
  with(homes: readonly LogServer<Partition>[]): readonly Shared[] {
    return this.all.filter((shared) => homes.some((home) => shared.homes.get(home.lease.log) === home));
  }

  remove({ tag, server }: Shared): void {
    if (this.#byTag.get(tag)?.server === server) this.#byTag.delete(tag);
  }
}
