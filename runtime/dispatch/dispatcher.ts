import { changesOf } from '../actor-store.ts';
import { isSharedLog, type Log, type Partition } from '../address.ts';
import type { EffectQueue } from '../effect-queue.ts';
import { turnsFirst } from '../kit/waits.ts';
import type { Unsubscribe } from '../leases.ts';
import type { MailboxEntry } from '../message.ts';
import type { Projector } from '../projection/projector.ts';
import { Background } from './background.ts';
import type { Committed } from './commit-turns.ts';
import type { LogServer } from './log-server.ts';
import { LazyDelivery, OutboxRelay } from './outbox-relay.ts';
import { OwnedPartitions, type OwnershipOptions } from './ownership.ts';
import { DirectorySweep, PartitionSweeps } from './partition-sweeps.ts';
import { TimerFiring } from './timer-firing.ts';
import { UnreadWatch } from './unread-watch.ts';

interface DispatcherOptions extends Omit<OwnershipOptions, 'isProjected'> {
  readonly projector: Projector;
  readonly effects: EffectQueue;
  /** Longest delay of a message whose wake-up got lost, milliseconds. */
  readonly pollMs: number;
  /** Age at which an unread entry in a held partition is an alarm, milliseconds. */
  readonly unreadMs: number;
  /** Called with the pools whose effects this node should take, whenever they may have changed. */
  readonly onQueues: (names: readonly string[]) => void;
}

const SWEEP_MS = 2_000;
const DIRECTORY_SWEEP_MS = 600_000;

/**
 * Serves the partitions that this node owns: receives wake-ups and starts batches. It runs the loops for leases,
 * wake-ups, timers, outbox and left-over effects.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #ownership: OwnedPartitions;
  readonly #wanted = new Set<Log>();
  readonly #background: Background;
  readonly #timers: TimerFiring;
  readonly #outbox: OutboxRelay;
  readonly #lazy: LazyDelivery;
  readonly #sweeps: PartitionSweeps;
  readonly #unread: UnreadWatch;
  readonly #busy = new Set<LogServer>();
  #pumping = false;
  #stopped = false;
  #unsubscribe: Unsubscribe = () => {};
  #unplace: Unsubscribe = () => {};
  #unreturn: Unsubscribe | undefined;
  #lives: ReadonlySet<string> = new Set();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#background = new Background(options.clock, options.warn);
    const isProjected = (server: LogServer) => options.projector.isDone(server);
    this.#ownership = new OwnedPartitions(
      { ...options, isProjected },
      {
        committed: (server, done) => this.#committed(server, done),
        taken: (home, nextTimerAt) => this.#taken(home, nextTimerAt),
        opened: (server) => this.#opened(server),
        lost: (server) => this.#lost(server),
        queues: options.onQueues,
      },
    );
    const leaseOf = (partition: Partition) => this.#ownership.get(partition)?.lease;
    const isLive = (runner: string) => options.placement.isLive(runner);
    this.#outbox = new OutboxRelay(options.store, leaseOf);
    this.#lazy = new LazyDelivery({
      clock: options.clock,
      flush: (source) => this.#owe(source),
      wake: (target) => this.wake(target),
      areTogether: (one, other) => this.#ownership.logOf(one) === this.#ownership.logOf(other),
    });
    this.#sweeps = new PartitionSweeps({ ...options, queue: options.effects, leaseOf, isLive });
    this.#unread = new UnreadWatch({
      ...options,
      servers: () => this.#ownership.logs,
      isBusy: (server) => this.#busy.has(server),
      heal: (server) => this.#takeAnew(server),
    });
    this.#timers = new TimerFiring({
      store: options.store,
      clock: options.clock,
      logs: () => this.#ownership.logs,
      serverOf: (partition) => this.#ownership.get(partition),
      clockOf: (partition) => this.#ownership.serverOf(this.#ownership.logOf(partition))?.clock,
      fired: (partition) => this.wake(partition),
      watch: (firing) => this.#background.watch('firing timers', firing),
    });
  }

  /** Joins the fleet, acquires the partitions of this node and starts serving. */
  async start(): Promise<void> {
    const { store, node, placement, leaseRenewMs, pollMs, unreadMs } = this.#options;
    this.#unsubscribe = store.onWake(node, (log) => this.wake(log));
    await this.#ownership.start();
    this.#lives = new Set(placement.incarnations());
    this.#unplace = placement.onChange((change) => {
      // Released partitions wait to be served, so nothing is read before they are acquired.
      const work = change === 'freed' ? this.#ownership.acquireFreed() : this.#ownership.adjust();
      // The first renewal reads the members; after it the dead nodes are known.
      const adjusted = work.finally(() => this.#background.watch('sweeping effects', this.#sweepForGone()));
      this.#background.watch('acquiring and handing over partitions', adjusted);
    });
    // Partitions whose leases expired while the store was away do not wait for the next renewal.
    this.#unreturn = store.onReturn?.(() =>
      this.#background.watch('acquiring partitions again', this.#ownership.adjust()),
    );
    this.#background.every(leaseRenewMs, 'renewing leases', async () => {
      this.#background.watch("reading the store's clocks", this.#timers.readClocks());
      await this.#ownership.renew().finally(() => this.#background.watch('sweeping effects', this.#sweepForGone()));
    });
    this.#background.every(pollMs, 'polling', async () => {
      for (const { lease } of this.#ownership.logs) this.wake(lease.log);
      for (const partition of this.#outbox.owing)
        this.#background.watch('flushing the outbox', this.#outbox.flush(partition));
      this.#options.cache.passivate();
    });
    this.#background.every(unreadMs / 4, 'checking for unread entries', () => this.#unread.look());
    this.#background.every(SWEEP_MS, 'sweeping effects', () => this.#sweeps.sweep());
    const directory = new DirectorySweep(store, this.#options.locator);
    this.#background.every(DIRECTORY_SWEEP_MS, 'sweeping the directory', async () => {
      await directory.sweep(this.#ownership.partitions);
    });
  }

  /**
   * Lets running batches commit, then releases every lease, so that no other node waits for a TTL (P2). Partitions that
   * no other member takes are served until `effectsEnded`, so that their last results are committed.
   */
  async stop(effectsEnded: Promise<void>): Promise<void> {
    this.#unplace();
    this.#unreturn?.();
    await this.#ownership.stop({
      keepServing: () => effectsEnded,
      beforeRelease: async () => {
        this.#halt();
        await this.#options.projector.stop();
      },
    });
  }

  /** Sweeps effects after a node died: it may have run effects, or held jobs, of partitions that stay here. */
  async #sweepForGone(): Promise<void> {
    const lives = this.#options.placement.incarnations();
    const gone = [...this.#lives].find((life) => !lives.includes(life));
    this.#lives = new Set(lives);
    if (gone !== undefined) await this.#sweeps.sweep(gone);
  }

  /** Starts nothing more. Running work ends. */
  #halt(): void {
    this.#stopped = true;
    this.#unsubscribe();
    this.#timers.stop();
    this.#lazy.stop();
    this.#background.stop();
  }

  /** Logs held here that are not being read. */
  get unread(): readonly Log[] {
    return this.#unread.alarms;
  }

  get ownership(): OwnedPartitions {
    return this.#ownership;
  }

  /** Polls a log. For a partition that shares a log it polls the shared one. */
  wake(of: Log): void {
    const log = isSharedLog(of) ? of : this.#ownership.logOf(of);
    if (this.#stopped || this.#ownership.serverOf(log) === undefined) return;
    this.#wanted.add(log);
    if (this.#pumping) return;
    this.#pumping = true;
    // One turn of the event loop collects the wake-ups of all partitions into one poll.
    setImmediate(() => this.#pump());
  }

  #pump(): void {
    this.#pumping = false;
    this.#ownership.loseIfLate();
    const polls: Promise<void>[] = [];
    for (const log of this.#wanted) {
      const server = this.#ownership.serverOf(log);
      // A busy log reads ahead with its commit and is polled again afterwards.
      if (server !== undefined && this.#busy.has(server)) continue;
      this.#wanted.delete(log);
      if (server === undefined) continue;
      this.#busy.add(server);
      polls.push(this.#poll(server));
    }
    // When many polls fail together, one failure is reported.
    this.#background.watch('polling', Promise.all(polls));
  }

  /**
   * Polls one log, because on Redis Cluster each may be on another node. The store still batches the calls of one tick.
   */
  async #poll(server: LogServer): Promise<void> {
    const { store, batchLimit } = this.#options;
    let entries: readonly MailboxEntry[] | null;
    try {
      [entries = []] = await store.poll([{ lease: server.lease, after: server.cursor }], batchLimit);
    } catch (thrown) {
      this.#idle(server);
      throw thrown;
    }
    if (entries === null) this.#takeAnew(server);
    else if (entries.length === 0) this.#idle(server);
    else
      this.#background.watch(
        `serving ${server.lease.log}`,
        server.serve(entries).finally(() => {
          this.#idle(server);
          if (server.lost) this.#ownership.lose(server);
        }),
      );
  }

  /** Acquires a log again: the cursor known here may be ahead of the store's, or another node has the lease. */
  #takeAnew(server: LogServer): void {
    this.#ownership.doubt(server);
    this.#idle(server);
    this.#background.watch('acquiring partitions again', this.#ownership.adjust());
  }

  #idle(server: LogServer): void {
    const { log } = server.lease;
    this.#busy.delete(server);
    if (this.#wanted.has(log)) this.wake(log);
  }

  #committed(server: LogServer, done: Committed): void {
    const { projector, overlapMs } = this.#options;
    projector.add(server, done.projected);
    for (const { partition, timersSet } of changesOf(done.commit)) {
      for (const timer of timersSet) this.#timers.note(partition, done.at + timer.afterMs);
    }
    for (const partition of this.#lazy.note(done)) this.#owe(partition);
    if (done.jobs.length === 0) return;
    // Where batches overlap, the next one has run: its commit leaves before these effects begin, and their results are there together.
    if (Number.isFinite(overlapMs))
      this.#background.watch(
        'beginning effects',
        turnsFirst().then(() => this.#begin(done)),
      );
    else this.#begin(done);
  }

  #begin({ jobs, starting }: Committed): void {
    for (const job of jobs) {
      this.#sweeps.note(job.partition);
      if (starting.begin(job)) continue;
      // The sweep finds the effect of a job that could not be queued: the record decides (E1).
      this.#background.watch('queueing an effect', this.#options.effects.enqueue(job));
    }
  }

  #owe(partition: Partition): void {
    this.#background.watch('flushing the outbox', this.#outbox.owe(partition));
  }

  #opened(server: LogServer): void {
    this.#options.projector.attach(server);
    this.wake(server.lease.log);
  }

  #taken(server: LogServer<Partition>, nextTimerAt: number | null): void {
    const { lease } = server;
    this.#options.placement.served?.(lease.log);
    this.#opened(server);
    if (nextTimerAt !== null) this.#timers.note(lease.log, nextTimerAt);
    this.#owe(lease.log);
    const looked = server.lookedThrough;
    this.#background.watch(
      'sweeping effects',
      looked.then(() => (server.lost ? undefined : this.#sweeps.acquired(lease))),
    );
  }

  #lost(server: LogServer): void {
    const { log: partition } = server.lease;
    this.#options.projector.detach(server);
    if (isSharedLog(partition)) return;
    // The partition is held again under a later lease: its entries stay.
    if (this.#ownership.get(partition) !== undefined) return;
    this.#outbox.drop(partition);
    this.#timers.drop(partition);
    this.#sweeps.drop(partition);
  }
}
