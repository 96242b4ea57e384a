import type { Lease, MailboxEntry, Unsubscribe } from '../actor-store.ts';
import { type Partition, partitionsOf } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { toSvcError } from '../errors.ts';
import type { Projector } from '../projection/projector.ts';
import type { Random } from '../random.ts';
import { OutboxRelay } from './outbox-relay.ts';
import { type Committed, type KernelParts, PartitionServer } from './partition-server.ts';
import { PartitionSweeps } from './partition-sweeps.ts';
import { TimerWheel } from './timer-wheel.ts';

export interface DispatcherOptions extends KernelParts {
  readonly node: string;
  readonly random: Random;
  readonly projector: Projector;
  readonly effects: EffectQueue;
  readonly leaseTtlMs: number;
  readonly leaseRenewMs: number;
  /** Longest a lost wake-up can delay a message. */
  readonly pollMs: number;
  readonly warn: (message: string, error: unknown) => void;
}

const ACQUIRE_AT_ONCE = 64;
const SWEEP_MS = 2_000;

/**
 * Serves the partitions whose leases this node holds: rings in, batches out (design, the way of a call). Owns the
 * loops: leases, wake-ups, timers, outbox, effects left over.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #servers = new Map<Partition, PartitionServer>();
  readonly #ringing = new Set<Partition>();
  readonly #wheel: TimerWheel;
  readonly #outbox: OutboxRelay;
  readonly #sweeps: PartitionSweeps;
  readonly #busy = new Set<Partition>();
  #pumping = false;
  #stopped = false;
  #unsubscribe: Unsubscribe = () => {};
  readonly #loops: (() => void)[] = [];
  #renewedAt = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const leaseOf = (partition: Partition) => this.#servers.get(partition)?.lease;
    this.#outbox = new OutboxRelay(options.store, leaseOf);
    this.#sweeps = new PartitionSweeps(options.store, options.effects, leaseOf);
    this.#wheel = new TimerWheel(options.clock, (due) => this.#guard('firing timers', this.#fireTimers(due)));
  }

  /** Takes every free partition and begins to serve. */
  async start(): Promise<void> {
    const { store, node, leaseRenewMs, pollMs } = this.#options;
    this.#unsubscribe = store.onBell(node, (partition) => this.ring(partition));
    this.#renewedAt = this.#options.clock.monotonic();
    await this.#readClock();
    await this.#acquireFree();
    this.#every(leaseRenewMs, 'renewing leases', () => this.#renew());
    this.#every(pollMs, 'polling', async () => {
      for (const partition of this.#servers.keys()) this.ring(partition);
      for (const partition of this.#outbox.owing) this.#guard('flushing the outbox', this.#outbox.flush(partition));
      this.#options.cache.passivate();
    });
    this.#every(SWEEP_MS, 'sweeping effects', () => this.#sweeps.sweep());
  }

  /** Lets running batches commit, then gives every lease back, so that nobody waits for a TTL (design P2). */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    this.#wheel.stop();
    for (const cancel of this.#loops) cancel();
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    await Promise.all(servers.map((server) => server.drain()));
    await this.#options.projector.stop();
    await Promise.all(servers.map((server) => this.#release(server.lease)));
  }

  /** Number of partitions served. */
  get held(): number {
    return this.#servers.size;
  }

  /** Milliseconds since the leases were last known to be ours; readiness turns false beyond the TTL. */
  get leaseAgeMs(): number {
    return this.#options.clock.monotonic() - this.#renewedAt;
  }

  ring(partition: Partition): void {
    if (this.#stopped || !this.#servers.has(partition)) return;
    this.#ringing.add(partition);
    if (this.#pumping) return;
    this.#pumping = true;
    // One turn of the event loop gathers the rings of all partitions into one poll.
    setImmediate(() => this.#guard('polling', this.#pump()));
  }

  async #pump(): Promise<void> {
    this.#pumping = false;
    const servers: PartitionServer[] = [];
    for (const partition of this.#ringing) {
      // A busy one reads ahead with its commit and is looked at again when it is done.
      if (this.#busy.has(partition)) continue;
      this.#ringing.delete(partition);
      const server = this.#servers.get(partition);
      if (server === undefined) continue;
      this.#busy.add(partition);
      servers.push(server);
    }
    if (servers.length === 0) return;
    const asks = servers.map((server) => ({ lease: server.lease, after: server.cursor }));
    try {
      const found = await this.#options.store.poll(asks, this.#options.batchLimit);
      for (const [index, server] of servers.entries()) this.#serve(server, found[index] ?? []);
    } catch (thrown) {
      for (const server of servers) this.#idle(server.lease.partition);
      throw thrown;
    }
  }

  #serve(server: PartitionServer, entries: readonly MailboxEntry[]): void {
    const { partition } = server.lease;
    if (entries.length === 0) {
      this.#idle(partition);
      return;
    }
    this.#guard(
      `serving ${partition}`,
      server.serve(entries).finally(() => {
        this.#idle(partition);
        if (server.lost) this.#lost(server);
      }),
    );
  }

  #idle(partition: Partition): void {
    this.#busy.delete(partition);
    if (this.#ringing.has(partition)) this.ring(partition);
  }

  #committed(server: PartitionServer, done: Committed): void {
    const { partition } = server.lease;
    const { projector, effects } = this.#options;
    projector.add(server, done.projected);
    for (const timer of done.commit.timersSet) this.#wheel.note(partition, done.at + timer.afterMs);
    if (done.owes) this.#guard('flushing the outbox', this.#outbox.owe(partition));
    for (const job of done.jobs) {
      this.#sweeps.note(partition);
      // A job that could not be queued is found by the sweep: the record is the truth (design E1).
      this.#guard('queueing an effect', effects.enqueue(job));
    }
  }

  async #fireTimers(due: readonly Partition[]): Promise<void> {
    const leases = due.flatMap((partition) => this.#servers.get(partition)?.lease ?? []);
    if (leases.length === 0) return;
    try {
      const next = await this.#options.store.fireTimers(leases);
      leases.forEach((lease, index) => {
        const at = next[index] ?? null;
        if (at !== null) this.#wheel.note(lease.partition, at);
        this.ring(lease.partition);
      });
    } catch (thrown) {
      const again = this.#wheel.now() + 100;
      for (const { partition } of leases) this.#wheel.note(partition, again);
      throw thrown;
    }
  }

  async #acquireFree(): Promise<void> {
    const { registry, store, node, random, leaseTtlMs } = this.#options;
    const wanted = registry.layouts.flatMap((layout) => partitionsOf(layout)).filter((one) => !this.#servers.has(one));
    for (let start = 0; start < wanted.length && !this.#stopped; start += ACQUIRE_AT_ONCE) {
      await Promise.all(
        wanted.slice(start, start + ACQUIRE_AT_ONCE).map(async (partition) => {
          const outcome = await store.acquire(partition, node, random.uuid(), leaseTtlMs);
          if (outcome.kind === 'granted') this.#take(outcome.lease, outcome.cursor, outcome.nextTimerAt);
        }),
      );
    }
  }

  #take(lease: Lease, cursor: number, nextTimerAt: number | null): void {
    if (this.#stopped) {
      this.#guard('giving a lease back', this.#release(lease));
      return;
    }
    const server: PartitionServer = new PartitionServer(lease, cursor, this.#options, (done) =>
      this.#committed(server, done),
    );
    this.#servers.set(lease.partition, server);
    this.#options.projector.attach(server);
    if (nextTimerAt !== null) this.#wheel.note(lease.partition, nextTimerAt);
    this.#guard('flushing the outbox', this.#outbox.owe(lease.partition));
    this.#guard('sweeping effects', this.#sweeps.acquired(lease));
    this.ring(lease.partition);
  }

  #lost(server: PartitionServer): void {
    const { partition } = server.lease;
    server.lose();
    this.#options.projector.detach(server);
    // The node may hold the partition again under a later lease: what is noted for that one stays.
    if (this.#servers.get(partition) !== server) return;
    this.#servers.delete(partition);
    this.#outbox.drop(partition);
    this.#wheel.drop(partition);
    this.#sweeps.drop(partition);
  }

  async #renew(): Promise<void> {
    const { store, leaseTtlMs, clock } = this.#options;
    const servers = [...this.#servers.values()];
    const asked = clock.monotonic();
    this.#guard("reading the store's clock", this.#readClock());
    try {
      const lost = await store.renew(
        servers.map((server) => server.lease),
        leaseTtlMs,
      );
      this.#renewedAt = asked;
      for (const lease of lost) {
        const server = this.#servers.get(lease.partition);
        if (server?.lease.grant === lease.grant) this.#lost(server);
      }
    } catch (thrown) {
      // Not reachable for a whole TTL: others may hold our partitions by now.
      if (this.leaseAgeMs > leaseTtlMs) for (const server of servers) this.#lost(server);
      throw thrown;
    }
    if (this.#servers.size < servers.length || this.#wantsMore()) await this.#acquireFree();
  }

  #wantsMore(): boolean {
    const all = this.#options.registry.layouts.reduce((sum, layout) => sum + layout.partitions, 0);
    return this.#servers.size < all;
  }

  /** Timers are due by the store's clock (design K10); ours may differ. */
  async #readClock(): Promise<void> {
    const { store, clock } = this.#options;
    const asked = clock.now();
    const at = await store.now();
    this.#wheel.adjust(at - (asked + clock.now()) / 2);
  }

  async #release(lease: Lease): Promise<void> {
    try {
      await this.#options.store.release(lease);
    } catch (thrown) {
      this.#options.warn('a lease was not released and will run out', toSvcError(thrown));
    }
  }

  #every(intervalMs: number, what: string, work: () => Promise<void>): void {
    const slot = this.#loops.length;
    const arm = (): void => {
      if (this.#stopped) return;
      this.#loops[slot] = this.#options.clock.after(intervalMs, () => this.#guard(what, work().finally(arm)));
    };
    this.#loops.push(() => {});
    arm();
  }

  /** Background work reports its failure and is repeated by its loop; it never goes unseen. */
  #guard(what: string, work: Promise<unknown>): void {
    work.catch((thrown: unknown) => this.#options.warn(`${what} failed`, toSvcError(thrown)));
  }
}
