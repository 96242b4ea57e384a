import type { Lease } from '../actor-store.ts';
import { isSharedLog, type Log, type Partition, partitionsOf, poolOf } from '../address.ts';
import { toSvcError } from '../errors.ts';
import { SharedRuns } from '../kit/queues.ts';
import type { Committed } from './commit-turns.ts';
import {
  announcing,
  drained,
  handOver,
  LeaseAges,
  logged,
  servedByOthers,
  takeAll,
  takeLease,
} from './lease-taking.ts';
import { LogServer } from './log-server.ts';
import { LogSharing, type LogSharingParts } from './log-sharing.ts';
import { HeldServers, Membership } from './membership.ts';
import type { Progress } from './progress.ts';
import { ServedBefore } from './served-before.ts';

export interface OwnershipOptions extends LogSharingParts {
  readonly leaseRenewMs: number;
  /** How long the set of held partitions must stay unchanged before they share a log: each change costs all of them. */
  readonly shareAfterMs: number;
}

/** Changes of partitions and logs, for the dispatcher that serves them. */
interface OwnershipEvents {
  committed(server: LogServer, done: Committed): void;
  /** A partition is served from now on. */
  taken(home: LogServer<Partition>, nextTimerAt: number | null): void;
  /** A log is read from now on. */
  opened(server: LogServer): void;
  lost(server: LogServer): void;
  queues(names: readonly string[]): void;
}

/**
 * The partitions that this node holds. It acquires those that the placement wants, hands over the others after their
 * running batches, and drops those that it lost (K4, P2).
 */
export class OwnedPartitions {
  readonly #options: OwnershipOptions;
  readonly #events: OwnershipEvents;
  readonly #servers = new HeldServers();
  readonly #membership: Membership;
  readonly #ages = new LeaseAges();
  readonly #sharing: LogSharing;
  readonly #before: ServedBefore;
  readonly #settling = new SharedRuns(() => this.#work());
  readonly #announcing: SharedRuns;
  #cancelWake: () => void = () => {};
  #cancelGather: () => void = () => {};
  #isSettleDue = false;
  #isGatherDue = false;
  #stopped = false;

  constructor(options: OwnershipOptions, events: OwnershipEvents) {
    this.#options = options;
    this.#events = events;
    this.#before = new ServedBefore(options);
    this.#announcing = announcing(options);
    this.#membership = new Membership(options, { lost: () => this.#loseAll(), superseded: () => this.#supersede() });
    this.#sharing = new LogSharing(options, {
      committed: (server, done) => events.committed(server, done),
      taken: (server) => {
        this.#ages.kept(server, options.clock.monotonic());
        // Its partitions continue behind the end of the log, wherever the log was when it was adopted.
        for (const partition of server.partitions) this.#before.taken(partition, server.progress.position);
        events.opened(server);
      },
      lost: (server) => this.lose(server),
      compared: (server, ahead) => this.#before.compared(server.cursor, ahead),
      doubted: (home) => this.doubt(home),
      read: () => {
        this.#announcing.run().catch(() => undefined);
        this.#wakeIn(0);
      },
    });
  }

  /** The server of a partition's own log. */
  get(partition: Partition): LogServer<Partition> | undefined {
    return this.#servers.get(partition);
  }

  /** The server of a log that is read here. */
  serverOf(log: Log): LogServer | undefined {
    return isSharedLog(log) ? this.#sharing.get(log) : this.#servers.get(log);
  }

  /** The log that takes the messages of a partition. */
  logOf(partition: Partition): Log {
    return this.#sharing.logOf(partition) ?? partition;
  }

  /** Servers of the logs that are read here: shared logs, and logs of partitions that share none. */
  get logs(): readonly LogServer[] {
    const alone = this.#servers.all.filter((home) => this.#sharing.sharedBy(home) === null);
    return [...this.#sharing.servers, ...alone];
  }

  get partitions(): Iterable<Partition> {
    return this.#servers.partitions;
  }

  get size(): number {
    return this.#servers.size;
  }

  /** Milliseconds since all leases were last confirmed. Beyond the TTL other nodes may hold them. */
  get leaseAgeMs(): number {
    return this.#options.clock.monotonic() - this.#ages.oldestAt;
  }

  async start(): Promise<void> {
    const asked = this.#options.clock.monotonic();
    await this.#membership.join();
    this.#ages.joined(asked);
    await this.adjust();
  }

  /**
   * Extends every lease, then starts to adjust the held partitions to the members. It does not wait for the adjustment:
   * a slow batch, or a lease that is granted slowly, must not delay the next renewal.
   */
  async renew(): Promise<void> {
    const { clock, warn } = this.#options;
    const asked = clock.monotonic();
    const seat = this.#membership.ask().then(() => this.#ages.joined(asked));
    // Each log may be on a server of its own (Redis Cluster): one that is unavailable must not affect the other leases.
    const leases = this.logs.map((server) => this.#extend(server, asked));
    const [joined, ...extended] = await Promise.allSettled([seat, ...leases]);
    this.#ages.look();
    this.loseIfLate();
    if (joined.status === 'fulfilled')
      this.#settleSoon().catch((thrown: unknown) =>
        warn('partitions could not be acquired or handed over; the next renewal tries again', toSvcError(thrown)),
      );
    for (const outcome of [joined, ...extended]) if (outcome.status === 'rejected') throw outcome.reason;
    await this.#before.look();
    await this.#sharing.removeRead();
    if (!this.#stopped) await this.#sharing.adoptLeft();
  }

  #isRead(server: LogServer): boolean {
    const { log } = server.lease;
    const home = isSharedLog(log) ? undefined : this.#servers.get(log);
    return this.serverOf(log) === server && (home === undefined || this.#sharing.sharedBy(home) === null);
  }

  async #extend(server: LogServer, asked: number): Promise<void> {
    const lost = await this.#options.store.renew([server.lease], this.#options.leaseTtlMs);
    // A partition that joined a log meanwhile is renewed with that log.
    if (this.#isRead(server)) this.#ages.kept(server, asked);
    for (const lease of lost) {
      const loser = this.serverOf(lease.log);
      if (loser?.lease.grant === lease.grant) this.doubt(loser);
    }
  }

  /** Adjusts to a change of the members, or to released partitions. Concurrent calls share one further run. */
  async adjust(): Promise<void> {
    if (this.#stopped) return;
    await this.#membership.ask();
    await this.#settleSoon();
  }

  /** Acquires partitions that other nodes released: by the known assignment if it has some that are not held here. */
  async acquireFreed(): Promise<void> {
    const isAnyMissing = [...this.#membership.assignment.wanted].some((partition) => !this.#servers.has(partition));
    await (isAnyMissing && !this.#stopped ? this.#settleSoon() : this.adjust());
  }

  /** Drops leases not renewed for a whole TTL (store unavailable, process frozen): other nodes may hold them. */
  loseIfLate(): void {
    const { clock, leaseTtlMs, store } = this.#options;
    const renewedAt = (lease: Lease) => store.renewedAt(lease);
    for (const server of this.#ages.late(clock.monotonic() - leaseTtlMs, renewedAt)) this.lose(server);
  }

  /** Returns a partition of the pool that this node holds. Acquires a free one when it holds none. */
  async holdOne(pool: string): Promise<Partition | null> {
    const already = this.#servers.nextOf(pool);
    if (already !== undefined || this.#stopped) return already ?? null;
    await this.adjust();
    const assigned = this.#servers.nextOf(pool);
    if (assigned !== undefined || !this.#membership.assignment.queues.includes(pool)) return assigned ?? null;
    const layout = (await this.#options.store.pools()).find((one) => one.pool === pool);
    for (const partition of layout === undefined ? [] : partitionsOf(layout)) {
      await this.#acquire(partition);
      if (!this.#servers.has(partition)) continue;
      this.#servers.keep(partition);
      return partition;
    }
    return null;
  }

  /**
   * Releases everything and ends the node lease. Partitions that another member may serve go to it at once. The others
   * wait for `keepServing`; `beforeRelease` runs while the leases still hold.
   */
  async stop(last: { keepServing(): Promise<void>; beforeRelease(): Promise<void> }): Promise<void> {
    const { placement } = this.#options;
    this.#stopped = true;
    this.#membership.leaving();
    this.#cancelWake();
    this.#cancelGather();
    await this.#settling.idle;
    await logged(this.#options, 'reading shared logs to their end', this.#disband(this.#servers.all));
    await logged(this.#options, 'announcing the drain', placement.drain());
    await this.#handOver(await servedByOthers(this.#options, this.#servers.all));
    await logged(this.#options, 'ending effects', last.keepServing());
    const left = this.#servers.all;
    await Promise.all(left.map((server) => drained(this.#options.clock, server)));
    await logged(this.#options, 'ending running effects and turns', last.beforeRelease());
    await logged(this.#options, 'removing closed logs', this.#sharing.removeRead());
    await this.#handOver(left);
    await logged(this.#options, 'comparing released partitions with the store', this.#before.look());
    await logged(this.#options, 'leaving the fleet', placement.leave());
  }

  /** Stops serving, because another process runs under this node's id. */
  #supersede(): void {
    this.#stopped = true;
    this.#ages.joined(Number.NEGATIVE_INFINITY);
    this.#events.queues([]);
    this.#loseAll();
  }

  /** Adjusts the held partitions. Of callers that share one run, the first one gets its error. */
  #settleSoon(): Promise<void> {
    this.#isSettleDue = true;
    return this.#settling.isPlanned ? this.#settling.idle : this.#settling.run();
  }

  /** Runs the pending steps one after another: partitions come and go, or join a shared log. */
  async #work(): Promise<void> {
    if (this.#stopped) return;
    if (this.#isSettleDue) await this.#settle();
    if (this.#isGatherDue) await this.#gather();
    this.#gatherSoon();
  }

  async #settle(): Promise<void> {
    this.#isSettleDue = false;
    const { wanted, queues } = this.#membership.assignment;
    this.#events.queues(queues);
    const unwanted = this.#servers.all.filter(
      ({ lease: { log: partition } }) =>
        !wanted.has(partition) && !(this.#servers.isKept(partition) && queues.includes(poolOf(partition))),
    );
    const missing = [...wanted].filter((partition) => !this.#servers.has(partition));
    await this.#disband(unwanted);
    await Promise.all([this.#handOver(unwanted), this.#acquireAll(missing)]);
  }

  /** Ends the sharing of logs with these partitions: they and those that shared with them read their own logs. */
  async #disband(homes: readonly LogServer<Partition>[]): Promise<void> {
    const { clock, warn } = this.#options;
    const joined = this.#sharing.togetherWith(homes);
    const asked = clock.monotonic();
    const disbanded = this.#sharing.disband(homes);
    for (const home of joined) {
      this.#ages.kept(home, asked);
      this.#extend(home, asked).catch((thrown: unknown) =>
        warn(`the lease of ${home.lease.log} could not be renewed; the next renewal tries again`, toSvcError(thrown)),
      );
    }
    await disbanded;
  }

  /** Makes partitions share a log when their set has not changed for a while. */
  #gatherSoon(): void {
    this.#cancelGather();
    if (this.#stopped || this.#sharing.alone(this.#servers.all).length === 0) return;
    const { clock, warn } = this.#options;
    this.#cancelGather = clock.after(this.#options.shareAfterMs, () => {
      this.#isGatherDue = true;
      this.#settling
        .run()
        .catch((thrown: unknown) =>
          warn('the partitions of this node could not join a shared log', toSvcError(thrown)),
        );
    });
  }

  async #gather(): Promise<void> {
    this.#isGatherDue = false;
    await this.#disband(this.#sharing.behind);
    await this.#sharing.gather(this.#servers.all);
    for (const home of this.#servers.all) if (this.#sharing.sharedBy(home) !== null) this.#ages.drop(home);
  }

  async #acquireAll(missing: readonly Partition[]): Promise<void> {
    const soonestMs = await takeAll(missing, this.#options.warn, async (partition) =>
      this.#stopped ? Number.POSITIVE_INFINITY : this.#acquire(partition),
    );
    // A lease expires before the next round: try then.
    if (soonestMs < this.#options.leaseRenewMs) this.#wakeIn(soonestMs + 5);
  }

  /** Acquires a partition. Returns for how many milliseconds its holder may still keep it; infinity when it is ours. */
  async #acquire(partition: Partition): Promise<number> {
    const asked = this.#options.clock.monotonic();
    const outcome = await takeLease(this.#options, partition);
    if (outcome.kind === 'held') {
      return outcome.behind === undefined ? outcome.remainingMs : this.#sharing.adopt(outcome.behind);
    }
    const { lease, nextTimerAt } = outcome;
    if (this.#stopped) {
      await logged(this.#options, 'releasing a lease', this.#options.store.release(lease));
      return Number.POSITIVE_INFINITY;
    }
    // Two calls may have run at once: the later grant is in force.
    const other = this.#servers.get(partition);
    if (other !== undefined) {
      if (other.lease.epoch > lease.epoch) return Number.POSITIVE_INFINITY;
      this.lose(other);
    }
    this.#options.cache.begin(partition);
    const server: LogServer<Partition> = new LogServer(
      { ...outcome, postponed: outcome.hasPostponed === true ? [partition] : [] },
      [partition],
      this.#options,
      {
        committed: (done) => this.#events.committed(server, done),
        lost: () => this.lose(server),
        compared: (ahead) => this.#before.compared(server.cursor, ahead),
      },
    );
    this.#before.taken(partition, server.progress.position);
    if (outcome.mayHaveLostAll === true) this.#options.lostActors.lookIn([partition]);
    this.#servers.add(server);
    this.#ages.kept(server, asked);
    this.#events.taken(server, nextTimerAt);
    return Number.POSITIVE_INFINITY;
  }

  /** Hands partitions over after their running batches (P2). */
  async #handOver(servers: readonly LogServer<Partition>[]): Promise<void> {
    const going = this.#servers.leave(servers.filter((server) => !server.lost));
    if (going.length === 0) return;
    await Promise.all(
      going.map((server) => handOver(this.#options, server, () => this.lose(server), this.#announcing)),
    );
    this.#servers.left(going);
  }

  /** Drops a log whose lease is lost, or whose store may have lost writes that this node knows. */
  doubt(server: LogServer): void {
    // Placements in the lost partitions may be gone and made again elsewhere.
    this.#options.locator.forgetAll();
    this.lose(server);
  }

  /** Ends serving without a call to the store: the lease is gone, or is left to expire. */
  lose(server: LogServer): void {
    const { log } = server.lease;
    const home = isSharedLog(log) ? undefined : this.#servers.get(log);
    const shared = home === server ? this.#sharing.sharedBy(home) : null;
    // A node that loses one of the partitions of a shared log cannot read the log for the others either.
    if (shared !== null) this.#loseShared(shared);
    else if (isSharedLog(log)) this.#loseShared(server);
    if (home === server) this.#loseHome(home, (shared ?? home).progress);
    else server.lose();
  }

  #loseShared(shared: LogServer): void {
    const homes = this.#sharing.lose(shared);
    this.#ages.drop(shared);
    this.#events.lost(shared);
    for (const home of homes) this.#loseHome(home, shared.progress);
  }

  #loseHome(home: LogServer<Partition>, progress: Progress): void {
    home.lose();
    if (this.#servers.get(home.lease.log) === home) this.#before.ended(home.lease, progress);
    this.#ages.drop(home);
    this.#servers.remove(home);
    this.#events.lost(home);
  }

  #loseAll(): void {
    for (const server of this.#sharing.servers) this.lose(server);
    for (const server of this.#servers.all) this.lose(server);
  }

  #wakeIn(delayMs: number): void {
    this.#cancelWake();
    const { clock, warn } = this.#options;
    this.#cancelWake = clock.after(delayMs, () => {
      this.adjust().catch((thrown: unknown) =>
        warn('partitions of another node could not be acquired; the next renewal tries again', toSvcError(thrown)),
      );
    });
  }
}
