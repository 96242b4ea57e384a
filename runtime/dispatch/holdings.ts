import { type Partition, partitionsOf, poolOf } from '../address.ts';
import { SvcError, toSvcError } from '../errors.ts';
import { Coalesced } from './coalesced.ts';
import { drained, handOver, patiently } from './hand-over.ts';
import type { KernelParts } from './kernel-parts.ts';
import { LeaseAges } from './lease-ages.ts';
import { type LeaseTaking, servedByOthers, takeAll, takeLease } from './lease-taking.ts';
import { type Committed, PartitionServer } from './partition-server.ts';
import type { Progress } from './progress.ts';
import { Seat } from './seat.ts';
import { ServersHeld } from './servers-held.ts';

export interface HoldingsOptions extends KernelParts, LeaseTaking {
  readonly leaseRenewMs: number;
}

/** What becomes of partitions, for the dispatcher that serves them. */
export interface HoldingsEvents {
  committed(server: PartitionServer, done: Committed): void;
  taken(server: PartitionServer, nextTimerAt: number | null): void;
  lost(server: PartitionServer): void;
  queues(names: readonly string[]): void;
}

/**
 * The partitions this node holds: takes what its placement wants, hands over what it does not want any more after the
 * batch that runs, drops what it lost (design K4, P2).
 */
export class Holdings {
  readonly #options: HoldingsOptions;
  readonly #events: HoldingsEvents;
  readonly #servers = new ServersHeld();
  readonly #seat: Seat;
  readonly #ages = new LeaseAges();
  /** How far partitions had come that this node does not serve any more. */
  readonly #served = new Map<Partition, Progress>();
  readonly #settling = new Coalesced(() => this.#settle());
  #cancelWake: () => void = () => {};
  #stopped = false;

  constructor(options: HoldingsOptions, events: HoldingsEvents) {
    this.#options = options;
    this.#events = events;
    this.#seat = new Seat(options, { lost: () => this.#loseAll(), superseded: () => this.#supersede() });
  }

  get(partition: Partition): PartitionServer | undefined {
    return this.#servers.get(partition);
  }

  get partitions(): Iterable<Partition> {
    return this.#servers.partitions;
  }

  get servers(): readonly PartitionServer[] {
    return this.#servers.all;
  }

  get size(): number {
    return this.#servers.size;
  }

  /** Milliseconds since all leases were last known to be ours; beyond the TTL others may hold them. */
  get leaseAgeMs(): number {
    return this.#options.clock.monotonic() - this.#ages.oldestAt;
  }

  async start(): Promise<void> {
    const asked = this.#options.clock.monotonic();
    await this.#seat.join();
    this.#ages.seated(asked);
    await this.adjust();
  }

  /**
   * Extends every lease and brings holdings in line with who is there. It does not wait for that: a batch that is slow
   * to end, or a lease that is slow to come, must not keep the leases from their next renewal.
   */
  async renew(): Promise<void> {
    const { clock, warn } = this.#options;
    const asked = clock.monotonic();
    const seat = this.#seat.ask().then(() => this.#ages.seated(asked));
    // Each may have a server of its own (Redis Cluster): one that is away must not cost what the others hold.
    const leases = this.#servers.all.map((server) => this.#extend(server, asked));
    const [seated, ...extended] = await Promise.allSettled([seat, ...leases]);
    this.#ages.look();
    this.loseIfLate();
    if (seated.status === 'fulfilled')
      this.#settling.run().catch((thrown: unknown) => warn('taking and handing over failed', toSvcError(thrown)));
    for (const outcome of [seated, ...extended]) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #extend(server: PartitionServer, asked: number): Promise<void> {
    const lost = await this.#options.store.renew([server.lease], this.#options.leaseTtlMs);
    if (this.#servers.get(server.lease.partition) === server) this.#ages.kept(server, asked);
    for (const lease of lost) {
      const loser = this.#servers.get(lease.partition);
      if (loser?.lease.grant === lease.grant) this.doubt(loser);
    }
  }

  /** Somebody came, left or gave something back. Calls that come meanwhile are answered by one more look. */
  async adjust(): Promise<void> {
    if (this.#stopped) return;
    await this.#seat.ask();
    await this.#settling.run();
  }

  /** What was not renewed for a whole TTL, by a store that is away or a process that was frozen, others may hold. */
  loseIfLate(): void {
    const { clock, leaseTtlMs } = this.#options;
    for (const server of this.#ages.late(clock.monotonic() - leaseTtlMs)) this.lose(server);
  }

  /** A partition of the pool that this node holds; a free one is taken when it holds none. */
  async holdOne(pool: string): Promise<Partition | null> {
    const already = this.#servers.nextOf(pool);
    if (already !== undefined || this.#stopped) return already ?? null;
    await this.adjust();
    const assigned = this.#servers.nextOf(pool);
    if (assigned !== undefined || !this.#seat.assignment.queues.includes(pool)) return assigned ?? null;
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
   * Gives everything back and ends the node lease. What another member may serve goes to it at once; for the rest
   * `keepServing` is waited for, and `beforeRelease` runs while the leases still hold.
   */
  async stop(last: { keepServing(): Promise<void>; beforeRelease(): Promise<void> }): Promise<void> {
    const { placement } = this.#options;
    this.#stopped = true;
    this.#seat.leaving();
    this.#cancelWake();
    await this.#settling.idle;
    await patiently(this.#options, 'telling the others', placement.drain());
    await this.#handOver(await servedByOthers(this.#options, this.#servers.all));
    await patiently(this.#options, 'ending effects', last.keepServing());
    const left = this.#servers.all;
    await Promise.all(left.map((server) => drained(this.#options.clock, server)));
    await patiently(this.#options, 'ending what runs', last.beforeRelease());
    await this.#handOver(left);
    await patiently(this.#options, 'leaving', placement.leave());
  }

  /** Another process runs under this node's id: this one serves nothing any more. */
  #supersede(): void {
    this.#stopped = true;
    this.#ages.seated(Number.NEGATIVE_INFINITY);
    this.#events.queues([]);
    this.#loseAll();
  }

  async #settle(): Promise<void> {
    if (this.#stopped) return;
    const { wanted, queues } = this.#seat.assignment;
    this.#events.queues(queues);
    const unwanted = this.#servers.all.filter(
      ({ lease: { partition } }) =>
        !wanted.has(partition) && !(this.#servers.isKept(partition) && queues.includes(poolOf(partition))),
    );
    const missing = [...wanted].filter((partition) => !this.#servers.has(partition));
    await Promise.all([this.#handOver(unwanted), this.#acquireAll(missing)]);
  }

  async #acquireAll(missing: readonly Partition[]): Promise<void> {
    const soonestMs = await takeAll(missing, this.#options.warn, async (partition) =>
      this.#stopped ? Number.POSITIVE_INFINITY : this.#acquire(partition),
    );
    // A lease that runs out before the next look: nobody has to wait for that.
    if (soonestMs < this.#options.leaseRenewMs) this.#wakeIn(soonestMs + 5);
  }

  /** Answers how long its holder may keep it, milliseconds; infinity when it is ours. */
  async #acquire(partition: Partition): Promise<number> {
    const asked = this.#options.clock.monotonic();
    const outcome = await takeLease(this.#options, partition);
    if (outcome.kind === 'held') return outcome.remainingMs;
    const { lease, nextTimerAt } = outcome;
    if (this.#stopped) {
      await patiently(this.#options, 'giving a lease back', this.#options.store.release(lease));
      return Number.POSITIVE_INFINITY;
    }
    // Two may have asked at once: the later grant is the one in force.
    const other = this.#servers.get(partition);
    if (other !== undefined) {
      if (other.lease.epoch > lease.epoch) return Number.POSITIVE_INFINITY;
      this.lose(other);
    }
    const server: PartitionServer = new PartitionServer(outcome, this.#options, {
      committed: (done) => this.#events.committed(server, done),
      lost: () => this.lose(server),
    });
    this.#compare(server);
    this.#servers.add(server);
    this.#ages.kept(server, asked);
    this.#events.taken(server, nextTimerAt);
    return Number.POSITIVE_INFINITY;
  }

  /** Says when the store went back since this node last served the partition. */
  #compare({ lease: { partition }, progress: { position } }: PartitionServer): void {
    const before = this.#served.get(partition);
    this.#served.delete(partition);
    if (before === undefined || position >= before.position) return;
    const message = `${partition} was at entry ${before.position}, the store is at ${position}; ${before.actorsBehind(position)} actors went back`;
    this.#options.warn('the store lost what it had acknowledged', new SvcError('lease_lost', message));
  }

  /** After the batch that runs, to whoever wants it (design P2). */
  async #handOver(servers: readonly PartitionServer[]): Promise<void> {
    const going = this.#servers.leave(servers.filter((server) => !server.lost));
    if (going.length === 0) return;
    await Promise.all(going.map((server) => handOver(this.#options, server, () => this.lose(server))));
    this.#servers.left(going);
    await patiently(this.#options, 'telling the others', this.#options.placement.freed());
  }

  /** The store says that the lease is lost, or that it may have gone back behind what is known of the partition here. */
  doubt(server: PartitionServer): void {
    // Who was placed in what it lost has no place any more, and may get another.
    this.#options.locator.forgetAll();
    this.lose(server);
  }

  /** Ends serving without a word to the store: the lease is gone, or its end is left to the TTL. */
  lose(server: PartitionServer): void {
    server.lose();
    if (this.#servers.get(server.lease.partition) === server) this.#served.set(server.lease.partition, server.progress);
    this.#ages.drop(server);
    this.#servers.remove(server);
    this.#events.lost(server);
  }

  #loseAll(): void {
    for (const server of this.#servers.all) this.lose(server);
  }

  #wakeIn(delayMs: number): void {
    this.#cancelWake();
    const { clock, warn } = this.#options;
    this.#cancelWake = clock.after(delayMs, () => {
      this.adjust().catch((thrown: unknown) => warn('taking what a dead node held failed', toSvcError(thrown)));
    });
  }
}
