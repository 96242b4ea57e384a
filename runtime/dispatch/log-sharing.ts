import type { Lease } from '../actor-store.ts';
import type { Partition, SharedLog } from '../address.ts';
import { SvcError, toSvcError } from '../errors.ts';
import type { SharedLogs } from '../shared-logs.ts';
import type { Committed } from './commit-turns.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { LeaseTaking } from './lease-taking.ts';
import { LogServer } from './log-server.ts';

export interface LogSharingParts extends KernelParts, LeaseTaking {
  /** Whether no program is in the fleet that does not know shared logs. */
  readonly sharesLogs: () => boolean;
  /** Whether documents have all that is in the journal of a log. */
  readonly isProjected: (server: LogServer) => boolean;
}

export interface LogSharingEvents {
  committed(server: LogServer, done: Committed): void;
  /** A log is served from now on. */
  taken(server: LogServer): void;
  /** Its lease was lost. */
  lost(server: LogServer): void;
  /** A log was read to its end: its partitions may be had. */
  read(): void;
  /** The lease of a partition was lost. */
  doubted(home: LogServer<Partition>): void;
}

/** A closed log that is read to its last entry. */
interface Reading {
  readonly server: LogServer<SharedLog>;
  readonly tail: number;
  /** Whether it was read to that entry; false when the lease was lost before. */
  readonly done: Promise<boolean>;
}

const REPEAT_MS = 50;

/**
 * The log that the partitions of this node share, and closed logs that it reads to their end: its own former ones, and those
 * of nodes that are gone (decision 0029).
 */
export class LogSharing {
  readonly #parts: LogSharingParts;
  readonly #logs: SharedLogs | null;
  readonly #on: LogSharingEvents;
  readonly #reading = new Map<SharedLog, Reading>();
  readonly #adopting = new Map<SharedLog, Promise<number>>();
  #shared: LogServer<SharedLog> | null = null;
  readonly #joined = new Map<Partition, LogServer<Partition>>();
  /** Whether it was made is not known. */
  #unsure: Lease<SharedLog> | null = null;
  /** The numbers of a partition are ahead of the log's. */
  #isBehind = false;

  constructor(parts: LogSharingParts, on: LogSharingEvents) {
    this.#parts = parts;
    this.#logs = parts.store.sharedLogs ?? null;
    this.#on = on;
  }

  /** Those that are served here. */
  get servers(): readonly LogServer[] {
    const reading = [...this.#reading.values()].map(({ server }) => server);
    return this.#shared === null ? reading : [this.#shared, ...reading];
  }

  get(log: SharedLog): LogServer | undefined {
    return this.#shared?.lease.log === log ? this.#shared : this.#reading.get(log)?.server;
  }

  /** The log that has the messages for a partition, when it is not its own. */
  logOf(partition: Partition): SharedLog | undefined {
    return this.#joined.has(partition) ? this.#shared?.lease.log : undefined;
  }

  /** Whether so many partitions may share a log. */
  isPossible(partitions: number): boolean {
    return this.#logs?.mayBeMade() === true && partitions > 1 && this.#parts.sharesLogs();
  }

  /** A partition cannot share the log as it is: its numbers are ahead. Another log is needed. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Has partitions share the log that have nothing to do just now. */
  async gather(homes: readonly LogServer<Partition>[]): Promise<void> {
    const logs = this.#logs;
    if (logs === null || !this.isPossible(homes.length)) return;
    const shared = this.#shared ?? (await this.#make(logs, homes));
    if (shared === null) return;
    const alone = homes.filter((home) => !home.lost && !this.#joined.has(home.lease.log));
    const idle = alone.filter((home) => home.isIdle);
    await Promise.all(idle.map((home) => home.share(shared, () => this.#join(logs, shared, home))));
  }

  async #make(logs: SharedLogs, homes: readonly LogServer<Partition>[]): Promise<LogServer<SharedLog> | null> {
    const { node, random, leaseTtlMs } = this.#parts;
    await this.#closeUnsure(logs);
    const log: SharedLog = `log-${random.uuid()}`;
    const grant = random.uuid();
    this.#unsure = { log, node, epoch: 1, grant };
    const partitions = homes.map(({ lease }) => lease.log);
    const made = await logs.make(log, node, grant, leaseTtlMs, partitions);
    this.#unsure = null;
    if (made === null) return null;
    this.#shared = this.#serve({ ...made, tail: made.cursor, mayBeOlder: false, postponed: [] }, []);
    return this.#shared;
  }

  /** One whose outcome is not known must not come to be later: messages would go where nothing reads. */
  async #closeUnsure(logs: SharedLogs): Promise<void> {
    const unsure = this.#unsure;
    if (unsure === null) return;
    await logs.close(unsure);
    await logs.remove(unsure);
    this.#unsure = null;
  }

  #serve(granted: ConstructorParameters<typeof LogServer<SharedLog>>[0], partitions: readonly Partition[]) {
    const server: LogServer<SharedLog> = new LogServer(granted, partitions, this.#parts, {
      committed: (done) => this.#on.committed(server, done),
      lost: () => this.#on.lost(server),
    });
    this.#on.taken(server);
    return server;
  }

  /** While it runs the partition does nothing else; an unknown outcome is asked for again. */
  async #join(logs: SharedLogs, shared: LogServer<SharedLog>, home: LogServer<Partition>): Promise<boolean> {
    const partition = home.lease.log;
    const outcomes = await this.#patiently(shared, () => logs.join(shared.lease, [home.lease]));
    if (outcomes === undefined) return false;
    if (outcomes === null) {
      this.#on.lost(shared);
      return false;
    }
    const [outcome] = outcomes;
    if (outcome === 'ahead') this.#isBehind = true;
    if (outcome === 'lost') this.#on.doubted(home);
    if (outcome !== 'joined') return false;
    shared.partitions.add(partition);
    this.#joined.set(partition, home);
    return true;
  }

  /** Every partition goes back to its own log, after what is in the shared one. Resolves when that is handled. */
  async disband(): Promise<void> {
    const logs = this.#logs;
    const shared = this.#shared;
    if (logs === null || shared === null) return;
    this.#isBehind = false;
    const closed = await this.#patiently(shared, () => logs.close(shared.lease));
    if (closed === undefined) return;
    if (closed === null) {
      this.#on.lost(shared);
      return;
    }
    this.#shared = null;
    const { done } = this.#read(shared, closed.tail, true);
    const homes = [...this.#joined.values()];
    this.#joined.clear();
    for (const home of homes) home.resume(closed.cursor, done);
    await done;
  }

  #read(server: LogServer<SharedLog>, tail: number, goesOn: boolean): Reading {
    const done = server.readTo(tail, goesOn).catch((thrown: unknown) => {
      this.#parts.warn(`${server.lease.log} is not read to its end`, toSvcError(thrown));
      this.#on.lost(server);
      return false;
    });
    const reading = { server, tail, done };
    this.#reading.set(server.lease.log, reading);
    return reading;
  }

  /**
   * Takes the log of a node that is gone, and reads it to its end. Answers how long its holder may keep it, milliseconds;
   * infinity when it is read here.
   */
  adopt(log: SharedLog): Promise<number> {
    if (this.get(log) !== undefined) return Promise.resolve(Number.POSITIVE_INFINITY);
    let adopting = this.#adopting.get(log);
    if (adopting === undefined) {
      adopting = this.#adopt(log).finally(() => this.#adopting.delete(log));
      this.#adopting.set(log, adopting);
    }
    return adopting;
  }

  async #adopt(log: SharedLog): Promise<number> {
    const { node, random, leaseTtlMs, placement } = this.#parts;
    if (this.#logs === null) throw new SvcError('internal', `the store has ${log} and no shared logs`);
    const grant = random.uuid();
    let outcome = await this.#logs.adopt(log, node, grant, leaseTtlMs);
    if (outcome.kind === 'held' && (await placement.isGone(outcome.by)))
      outcome = await this.#logs.adopt(log, node, grant, leaseTtlMs, outcome.grant);
    if (outcome.kind === 'held') return outcome.remainingMs;
    if (outcome.kind === 'gone') return 0;
    const { done } = this.#read(this.#serve(outcome, outcome.partitions), outcome.tail, false);
    done.then(() => this.#on.read()).catch((thrown: unknown) => this.#parts.warn(`after ${log}`, toSvcError(thrown)));
    return Number.POSITIVE_INFINITY;
  }

  /** Takes logs whose holders are gone: their journals may not be in documents. */
  async adoptLeft(): Promise<void> {
    for (const log of (await this.#logs?.list()) ?? []) await this.adopt(log);
  }

  /** Removes closed logs that are read to their end and whose journals are in documents. */
  async removeRead(): Promise<void> {
    for (const [log, { server, tail }] of this.#reading) {
      if (server.cursor < tail || !this.#parts.isProjected(server)) continue;
      if ((await this.#logs?.remove(server.lease)) !== true || this.#reading.get(log)?.server !== server) continue;
      this.#on.lost(server);
    }
  }

  /** Answers the partitions that are lost with it. */
  lose(server: LogServer): readonly LogServer<Partition>[] {
    server.lose();
    for (const [log, reading] of this.#reading) if (reading.server === server) this.#reading.delete(log);
    if (this.#shared !== server) return [];
    this.#shared = null;
    const homes = [...this.#joined.values()];
    this.#joined.clear();
    return homes;
  }

  /** The log that a partition's server gave its messages to. */
  sharedBy(home: LogServer<Partition>): LogServer | null {
    return this.#joined.get(home.lease.log) === home ? this.#shared : null;
  }

  /** Repeats a call of unknown outcome until it is known; undefined when the log is lost before. */
  async #patiently<T>(shared: LogServer, call: () => Promise<T>): Promise<T | undefined> {
    while (!shared.lost) {
      try {
        return await call();
      } catch (thrown) {
        if (toSvcError(thrown).code !== 'unavailable') throw thrown;
        await new Promise<void>((resume) => void this.#parts.clock.after(REPEAT_MS, resume));
      }
    }
    return undefined;
  }
}
