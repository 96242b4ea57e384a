import type { Lease } from '../actor-store.ts';
import { isSharedLog, type Log, type Partition, type SharedLog } from '../address.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { SingleFlight } from '../kit/lazy.ts';
import { allDone } from '../kit/queues.ts';
import { sleep } from '../kit/waits.ts';
import type { SharedLogs } from '../leases.ts';
import type { Committed } from './commit-turns.ts';
import type { KernelParts } from './kernel-parts.ts';
import type { LeaseTaking } from './lease-taking.ts';
import { LogServer } from './log-server.ts';

export interface LogSharingParts extends KernelParts, LeaseTaking {
  /** Whether every program in the fleet knows shared logs. */
  readonly sharesLogs: () => boolean;
  /** Whether the documents contain everything in the journal of a log. */
  readonly isProjected: (server: LogServer) => boolean;
}

interface LogSharingEvents {
  committed(server: LogServer, done: Committed): void;
  /** Called when a log begins to be served. */
  taken(server: LogServer): void;
  /** Called when the lease of a log was lost. */
  lost(server: LogServer): void;
  /** See `ServedEvents.compared`. */
  compared(server: LogServer, ahead: ReadonlyMap<Partition, number>): void;
  /** Called when a log was read to its end: its partitions are free. */
  read(): void;
  /** Called when the lease of a partition was lost. */
  doubted(home: LogServer<Partition>): void;
}

/** A closed log that is read to its last entry. */
interface Reading {
  readonly server: LogServer<SharedLog>;
  readonly tail: number;
  /** Resolves to true when that entry was read, to false when the lease was lost first. */
  readonly done: Promise<boolean>;
}

const REPEAT_MS = 50;
/** Within this time a few nodes of the fleet look for logs whose holders are gone; each asks for every log. */
const LOOK_FOR_LOGS_MS = 10_000;
const LOOKING_NODES = 4;
const ASKED_AT_ONCE = 64;

/**
 * The logs that the partitions of this node share, one for each tag of the store (`SharedLogs.tagOf`), and the closed
 * logs that it reads to their end: its own former ones, and those of nodes that are gone (decision 0029).
 */
export class LogSharing {
  readonly #parts: LogSharingParts;
  readonly #logs: SharedLogs | null;
  readonly #on: LogSharingEvents;
  readonly #reading = new Map<SharedLog, Reading>();
  readonly #adopting = new SingleFlight<SharedLog, number>();
  readonly #shared = new LogsShared();
  /** Logs whose creation had an unknown outcome. */
  readonly #unsure = new Map<SharedLog, Lease<SharedLog>>();
  #lookAt: number | null = null;

  constructor(parts: LogSharingParts, on: LogSharingEvents) {
    this.#parts = parts;
    this.#logs = parts.store.sharedLogs ?? null;
    this.#on = on;
  }

  /** Servers of the shared logs that are served here. */
  get servers(): readonly LogServer[] {
    const reading = [...this.#reading.values()].map(({ server }) => server);
    return [...this.#shared.all.map(({ server }) => server), ...reading];
  }

  get(log: SharedLog): LogServer | undefined {
    return this.#shared.of(log)?.server ?? this.#reading.get(log)?.server;
  }

  #sharedIn(partition: Partition): Shared | undefined {
    return this.#logs === null ? undefined : this.#shared.joinedBy(partition, this.#logs.tagOf(partition));
  }

  /** The log that takes the messages of a partition when it is not the partition's own. */
  logOf(partition: Partition): SharedLog | undefined {
    return this.#sharedIn(partition)?.server.lease.log;
  }

  /** Partitions without a shared log that could have one, because others of their tag are served here too. */
  alone(homes: readonly LogServer<Partition>[]): readonly LogServer<Partition>[] {
    return [...this.#byTag(homes).values()].flat().filter((home) => this.sharedBy(home) === null);
  }

  /** Servers of partitions that may share a log, by tag. Empty while logs may not be created. */
  #byTag(homes: readonly LogServer<Partition>[]): Map<string, LogServer<Partition>[]> {
    const logs = this.#logs;
    if (logs?.mayBeMade() !== true || !this.#parts.sharesLogs()) return new Map();
    const tags = Map.groupBy(homes, (home) => logs.tagOf(home.lease.log));
    for (const [tag, own] of tags) if (own.length < 2) tags.delete(tag);
    return tags;
  }

  /**
   * Partitions that must move to a new log: another partition of their tag could not join their shared log, because its
   * numbers were ahead of the log's.
   */
  get behind(): readonly LogServer<Partition>[] {
    return this.#shared.all.filter(({ isBehind }) => isBehind).flatMap(({ homes }) => [...homes.values()]);
  }

  /** Makes partitions share logs; only those without running work join. */
  async gather(homes: readonly LogServer<Partition>[]): Promise<void> {
    const logs = this.#logs;
    if (logs === null) return;
    await this.#closeUnsure(logs);
    // These logs could not admit every partition.
    const behind = this.#shared.all.filter(({ isBehind }) => isBehind);
    await allDone(behind.map((shared) => this.#disband(logs, shared)));
    await allDone([...this.#byTag(homes)].map(([tag, own]) => this.#gatherTag(logs, tag, own)));
  }

  async #gatherTag(logs: SharedLogs, tag: string, homes: readonly LogServer<Partition>[]): Promise<void> {
    const shared = this.#shared.get(tag) ?? (await this.#make(logs, tag, homes));
    if (shared === null) return;
    const idle = homes.filter((home) => !home.lost && home.isIdle && this.sharedBy(home) === null);
    await allDone(idle.map((home) => home.share(shared.server, () => this.#join(logs, shared, home))));
  }

  async #make(logs: SharedLogs, tag: string, homes: readonly LogServer<Partition>[]): Promise<Shared | null> {
    const { node, random, leaseTtlMs } = this.#parts;
    const log: SharedLog = `log-${tag === '' ? '' : `${tag}.`}${random.uuid()}`;
    const grant = random.uuid();
    this.#unsure.set(log, { log, node, epoch: 1, grant });
    const partitions = homes.map(({ lease }) => lease.log);
    const made = await logs.make(log, node, grant, leaseTtlMs, partitions);
    this.#unsure.delete(log);
    if (made === null) return null;
    const server = this.#serve({ ...made, tail: made.cursor, mayBeOlder: false, postponed: [] }, []);
    return this.#shared.add(tag, server);
  }

  /**
   * Closes logs whose creation had an unknown outcome. Such a log, if it appeared later, would take messages that no
   * server reads.
   */
  async #closeUnsure(logs: SharedLogs): Promise<void> {
    for (const [log, unsure] of this.#unsure) {
      await logs.close(unsure);
      await logs.remove(unsure);
      this.#unsure.delete(log);
    }
  }

  #serve(granted: ConstructorParameters<typeof LogServer<SharedLog>>[0], partitions: readonly Partition[]) {
    const server: LogServer<SharedLog> = new LogServer(granted, partitions, this.#parts, {
      committed: (done) => this.#on.committed(server, done),
      lost: () => this.#on.lost(server),
      compared: (ahead) => this.#on.compared(server, ahead),
    });
    this.#on.taken(server);
    return server;
  }

  /**
   * Joins a partition to a log. The partition does no other work meanwhile, and a call of unknown outcome is repeated.
   */
  async #join(logs: SharedLogs, shared: Shared, home: LogServer<Partition>): Promise<boolean> {
    const { server, homes } = shared;
    const partition = home.lease.log;
    const outcomes = await this.#untilKnown(server, () => logs.join(server.lease, [home.lease]));
    if (outcomes === undefined) return false;
    if (outcomes === null) {
      this.#on.lost(server);
      return false;
    }
    const [outcome] = outcomes;
    if (outcome === 'ahead') shared.isBehind = true;
    if (outcome === 'lost') this.#on.doubted(home);
    if (outcome !== 'joined') return false;
    server.partitions.add(partition);
    homes.set(partition, home);
    return true;
  }

  /** Partitions that share a log with one of these. */
  togetherWith(homes: readonly LogServer<Partition>[]): readonly LogServer<Partition>[] {
    return this.#shared.with(homes).flatMap((shared) => [...shared.homes.values()]);
  }

  /**
   * Returns every partition that shares a log with one of these to its own log. Resolves when the entries of the shared
   * log are handled.
   */
  async disband(homes: readonly LogServer<Partition>[]): Promise<void> {
    const logs = this.#logs;
    if (logs === null) return;
    await allDone(this.#shared.with(homes).map((shared) => this.#disband(logs, shared)));
  }

  async #disband(logs: SharedLogs, shared: Shared): Promise<void> {
    const { server, homes } = shared;
    const closed = await this.#untilKnown(server, () => logs.close(server.lease));
    if (closed === undefined) return;
    if (closed === null) {
      this.#on.lost(server);
      return;
    }
    this.#shared.remove(shared);
    const { done } = this.#read(server, closed.tail, true);
    for (const home of homes.values()) home.resume(closed.cursor, done);
    await done;
  }

  #read(server: LogServer<SharedLog>, tail: number, goesOn: boolean): Reading {
    const done = server.readTo(tail, goesOn).catch((thrown: unknown) => {
      this.#parts.warn(
        `the closed log ${server.lease.log} could not be read to its end; the node drops it`,
        toSvcError(thrown),
      );
      this.#on.lost(server);
      return false;
    });
    const reading = { server, tail, done };
    this.#reading.set(server.lease.log, reading);
    return reading;
  }

  /**
   * Takes over the log of a node that is gone and reads it to its end. Returns for how many milliseconds its holder may
   * still keep it; infinity when it is read here.
   */
  adopt(log: SharedLog): Promise<number> {
    if (this.get(log) !== undefined) return Promise.resolve(Number.POSITIVE_INFINITY);
    return this.#adopting.run(log, () => this.#adopt(log));
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
    for (const partition of outcome.partitions) this.#parts.cache.begin(partition);
    const { done } = this.#read(this.#serve(outcome, outcome.partitions), outcome.tail, false);
    done
      .then(() => this.#on.read())
      .catch((thrown: unknown) =>
        this.#parts.warn(`the partitions of the adopted log ${log} could not be announced as free`, toSvcError(thrown)),
      );
    return Number.POSITIVE_INFINITY;
  }

  /**
   * Takes over logs whose holders are gone, since their journals may not be in the documents. Looks for them at intervals, the
   * longer the more nodes there are: if each of a thousand asked for a thousand logs, the store would do nothing else.
   */
  async adoptLeft(): Promise<void> {
    const { clock, placement, random } = this.#parts;
    const now = clock.monotonic();
    const nodes = placement.incarnations().length;
    const everyMs = LOOK_FOR_LOGS_MS * Math.max(1, nodes / LOOKING_NODES);
    // Nodes that started together do not look together.
    this.#lookAt ??= nodes > LOOKING_NODES ? now + random.fraction() * everyMs : now;
    if (now < this.#lookAt) return;
    this.#lookAt = now + everyMs;
    const logs = (await this.#logs?.list()) ?? [];
    for (let at = 0; at < logs.length; at += ASKED_AT_ONCE)
      await allDone(logs.slice(at, at + ASKED_AT_ONCE).map((log) => this.adopt(log)));
  }

  /** Removes closed logs that were read to their end and whose journals are in the documents. */
  async removeRead(): Promise<void> {
    for (const [log, { server, tail }] of this.#reading) {
      if (server.cursor < tail || !this.#parts.isProjected(server)) continue;
      if ((await this.#logs?.remove(server.lease)) !== true || this.#reading.get(log)?.server !== server) continue;
      this.#on.lost(server);
    }
  }

  /** Drops a log. Returns the partitions that are lost with it. */
  lose(server: LogServer): readonly LogServer<Partition>[] {
    server.lose();
    for (const [log, reading] of this.#reading) if (reading.server === server) this.#reading.delete(log);
    const shared = this.#shared.of(server.lease.log);
    if (shared?.server !== server) return [];
    this.#shared.remove(shared);
    return [...shared.homes.values()];
  }

  /** The server of the shared log that a partition has joined; null when there is none. */
  sharedBy(home: LogServer<Partition>): LogServer | null {
    const shared = this.#sharedIn(home.lease.log);
    return shared?.homes.get(home.lease.log) === home ? shared.server : null;
  }

  /** Repeats a call of unknown outcome until its outcome is known. Undefined when the log is lost first. */
  async #untilKnown<T>(shared: LogServer, call: () => Promise<T>): Promise<T | undefined> {
    while (!shared.lost) {
      try {
        return await call();
      } catch (thrown) {
        if (toSvcError(thrown).code !== 'unavailable') throw thrown;
        await sleep(this.#parts.clock, REPEAT_MS);
      }
    }
    return undefined;
  }
}

/** A log that partitions of this node share. */
interface Shared {
  readonly tag: string;
  readonly server: LogServer<SharedLog>;
  /** Servers of the partitions that share the log. */
  readonly homes: Map<Partition, LogServer<Partition>>;
  /** True when a partition could not join because its numbers are ahead of the log's. */
  isBehind: boolean;
}

/** The logs that partitions of this node share now: at most one for each tag (`SharedLogs.tagOf`). */
class LogsShared {
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

  /** The shared log of that tag, if the partition has joined it. */
  joinedBy(partition: Partition, tag: string): Shared | undefined {
    const shared = this.#byTag.get(tag);
    return shared?.homes.has(partition) === true ? shared : undefined;
  }

  /** The logs that one of these servers has joined. */
  with(homes: readonly LogServer<Partition>[]): readonly Shared[] {
    return this.all.filter((shared) => homes.some((home) => shared.homes.get(home.lease.log) === home));
  }

  remove({ tag, server }: Shared): void {
    if (this.#byTag.get(tag)?.server === server) this.#byTag.delete(tag);
  }
}
