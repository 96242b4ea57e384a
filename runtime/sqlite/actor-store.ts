import { join } from 'node:path';
import type { ActorStore, Commit, Lease } from '../actor-store.ts';
import type { Address, Log, Partition } from '../address.ts';
import { type Clock, systemClock } from '../clock.ts';
import { SvcError } from '../errors.ts';
import type { Delivery } from '../message.ts';
import { applyCommit } from './actor-store-commit.ts';
import { Notices } from './actor-store-notices.ts';
import { lookOf, MemberBook, type Opened, openTables } from './actor-store-opening.ts';
import type { PartitionState } from './actor-store-partition.ts';
import { DamagedPages, giveBackSpace, lockDirectory, storeError } from './database.ts';

/** How often unneeded rows are deleted, and how soon again when a sweep left some. */
const SWEEP_EVERY_MS = 1_000;

const SWEEP_MORE_MS = 10;

/** Name of the fact with the store's time, for the next run of the process. */
const TIME_FACT = 'time';

/**
 * The actor store of one process on one machine: `actors.db` in a data directory that the process locks. Writes are
 * grouped, with one fsync for each group (K10). A send reaches its target in the same transaction, so no partition ever
 * owes messages. Throws `unavailable` when the directory is locked, the disk is full or fails, or the store is closed.
 */
export class SqliteActorStore implements ActorStore {
  readonly isInProcess = true;
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #onFailed: () => void;
  /** The store's clock. Until the file is open it follows the process's clock. */
  #time: StoreClock;
  readonly #notices = new Notices();
  readonly #members = new MemberBook();
  #opened: Opened | undefined;
  #stopSweep: () => void = () => {};

  readonly #pages: DamagedPages;

  /** `onFailed`: called when a write failed. */
  constructor(options: {
    readonly directory: string;
    readonly clock?: Clock;
    readonly onFailed?: () => void;
    readonly warn?: (message: string, error: unknown) => void;
  }) {
    this.#directory = options.directory;
    this.#onFailed = options.onFailed ?? (() => {});
    this.#clock = options.clock ?? systemClock;
    this.#pages = new DamagedPages(join(options.directory, 'actors.db'), this.#clock, options.warn ?? (() => {}));
    this.#time = new StoreClock(this.#clock, 0);
  }

  async open(): Promise<void> {
    if (this.#opened !== undefined) return;
    const unlock = lockDirectory(this.#directory);
    const path = join(this.#directory, 'actors.db');
    try {
      const opened = openTables(path, this.#notices, unlock, {
        onFailed: this.#onFailed,
        mends: (error, database) => this.#pages.mends(error, database),
      });
      const kept = Number(opened.facts.all().get(TIME_FACT) ?? 0);
      this.#time = new StoreClock(this.#clock, Math.max(kept, opened.mailbox.lastAt));
      this.#opened = opened;
    } catch (error) {
      unlock();
      throw storeError(error, 'actors', path);
    }
    this.#sweepIn(SWEEP_EVERY_MS);
  }

  /** Throws `unavailable` when the disk takes no write. The file and the lock are free then, too. */
  async close(): Promise<void> {
    const opened = this.#opened;
    if (opened === undefined) return;
    this.#opened = undefined;
    this.#members.forget();
    this.#stopSweep();
    try {
      opened.group.flush();
      this.#keepTime(opened);
    } catch (error) {
      throw storeError(error);
    } finally {
      opened.database.close();
      opened.unlock();
    }
  }

  /** Gives some of the space of deleted rows back to the file system. Returns whether there is more. */
  upkeep = (): Promise<boolean> => this.#read(({ database }) => giveBackSpace(database));

  now = async () => this.#time.now();

  /** A durable commit that changes nothing but the stored time. Throws `unavailable`. */
  touch = (): Promise<void> => this.#write((opened) => this.#keepTime(opened));

  definePool = (pool: string, partitions: number) => this.#write(({ leases }) => leases.definePool(pool, partitions));

  append = (partition: Partition, deliveries: readonly Delivery[], bound: number, ageMs = 0) =>
    this.#write(
      ({ mailbox }, now) => mailbox.append(partition, deliveries, bound, now, now - ageMs),
      !deliveries.every(({ awaited }) => awaited === true),
    );

  recallReply = (partition: Partition, messageId: string) =>
    this.#read(({ mailbox }) => mailbox.recall(partition, messageId));

  depth = (partition: Partition, address: Address) => this.#read(({ mailbox }) => mailbox.depth(partition, address));

  backlog = (partition: Partition) => this.#read(({ mailbox }) => mailbox.backlog(partition));

  unread: ActorStore['unread'] = (partition, _address, after, limit) =>
    this.#read(({ mailbox }) => mailbox.unread(partition, after, limit));

  onReply: ActorStore['onReply'] = (session, receive) => this.#notices.replies.subscribe(session, receive);

  acquire: ActorStore['acquire'] = (partition, node, grant, ttlMs, over) =>
    this.#write(({ leases }, now) => leases.acquire(partition, node, grant, ttlMs, over, now));

  renew = (held: readonly Lease[], ttlMs: number) => this.#write(({ leases }, now) => leases.renew(held, ttlMs, now));

  release = (lease: Lease) => this.#write(({ leases }) => leases.release(lease));

  /**
   * Leases are not renewed while the event loop is blocked. No other process can take them, and the event loop renews
   * them when it continues.
   */
  renewedAt = (): null => null;
  /** There is no server that could return to an older state while its clients run. */
  cameBackAt = async (): Promise<null> => null;
  freeze = (): void => {};
  vouch = (lease: Lease) => this.#read(({ book }) => book.held(lease) !== undefined);

  onWake: ActorStore['onWake'] = (node, wake) => this.#notices.wakeUps.subscribe(node, wake);

  announce: ActorStore['announce'] = (member, ttlMs, first) =>
    this.#read(() => this.#members.announce(member, ttlMs, first, this.#clock.monotonic()));

  members = () => this.#read(() => this.#members.members(this.#clock.monotonic()));
  readMembers: ActorStore['readMembers'] = (node) =>
    this.#read(() => lookOf(node, this.#members.members(this.#clock.monotonic())));

  retire: ActorStore['retire'] = (node, incarnation) => this.#read(() => this.#members.retire(node, incarnation));

  isKnown: ActorStore['isKnown'] = (node, incarnation) => this.#read(() => this.#members.isKnown(node, incarnation));

  pools = () => this.#read(({ leases }) => leases.pools());

  signal: ActorStore['signal'] = (node, content) => this.#read(() => this.#members.signal(node, content));

  onSignal: ActorStore['onSignal'] = (node, receive) => this.#members.onSignal(node, receive);

  poll: ActorStore['poll'] = (asks, limit) =>
    this.#read(({ mailbox }) => asks.map(({ lease, after }) => mailbox.poll(lease, after, limit)));

  load: ActorStore['load'] = (partition, addresses) =>
    this.#readPartition(
      partition,
      addresses.map(() => null),
      ({ actors }, state) => addresses.map((address) => actors.load(state, address)),
    );

  recorded: ActorStore['recorded'] = (partition) =>
    this.#readPartition(partition, [], ({ actors }, state) => actors.recorded(state));

  actorCount: ActorStore['actorCount'] = (partition) =>
    this.#readPartition(partition, 0, ({ actors }, state) => actors.count(state));

  commit = (commit: Commit, readAhead: number) =>
    this.#write((tables, now) => applyCommit(tables, commit, readAhead, now));

  async fireTimers(leases: readonly Lease[]): Promise<(number | null)[]> {
    const { book, timers } = this.#tables();
    const due = (lease: Lease, now: number) => {
      const state = book.held(lease);
      return state !== undefined && timers.isDue(state, now);
    };
    const nextOf = (lease: Lease) => {
      const state = book.held(lease);
      return state === undefined ? null : book.nextTimerAt(state);
    };
    if (!leases.some((lease) => due(lease, this.#time.now()))) return leases.map(nextOf);
    return this.#write((_, now) => {
      for (const lease of leases) {
        const state = book.held(lease);
        if (state !== undefined && timers.isDue(state, now)) timers.fire(state, now);
      }
      return leases.map(nextOf);
    });
  }

  timersDue: ActorStore['timersDue'] = (partition, ids) =>
    this.#readPartition(
      partition,
      ids.map(() => null),
      ({ timers }, state) => ids.map((id) => timers.dueAt(state, id)),
    );

  flushOutbox = async () => false;

  forget = (lease: Lease, after: number, addresses: readonly Address[]) =>
    this.#write(({ book, actors }) => {
      const state = book.held(lease);
      if (state === undefined || state.cursor !== after) return false;
      for (const address of addresses) actors.forget(state, address);
      return true;
    });

  openEffects: ActorStore['openEffects'] = (partition) =>
    this.#readPartition(partition, [], ({ effects }, state) => effects.list(state));

  effectRows: ActorStore['effectRows'] = (partition, ids) =>
    this.#readPartition(
      partition,
      ids.map(() => null),
      ({ effects }, state) => ids.map((id) => effects.row(state, id)),
    );

  effectBodies: ActorStore['effectBodies'] = (partition, ids) =>
    this.#readPartition(
      partition,
      ids.map(() => null),
      ({ effects }, state) => ids.map((id) => effects.body(state, id)),
    );

  claimEffect: ActorStore['claimEffect'] = (partition, id, runner, ttlMs, over = '', claim = '') =>
    this.#write(({ book, effects }, now) =>
      effects.claim(book.get(partition), { id, runner, ttlMs, over, claim, now }),
    );

  /**
   * Does not wait for the disk: a claim lasts no longer than the process of this store, so a claim that a power failure loses
   * has ended anyway.
   */
  keepEffect: ActorStore['keepEffect'] = (partition, id, attempt, ttlMs) =>
    this.#write(({ book, effects }, now) => effects.keep(book.get(partition), id, attempt, now + ttlMs), false);

  progressEffect: ActorStore['progressEffect'] = (partition, id, attempt, delivery) =>
    this.#write(({ book, effects }, now) => effects.progress(book.get(partition), id, attempt, delivery, now));

  settleEffect: ActorStore['settleEffect'] = (partition, id, attempt, { body }) =>
    this.#write(({ book, effects }, now) => effects.settle(book.get(partition), id, attempt, body, now));

  reopenEffect: ActorStore['reopenEffect'] = (partition, id, attempt, delayMs, runner, error) =>
    this.#write(({ book, effects }, now) =>
      effects.reopen(book.get(partition), id, attempt, now + delayMs, runner, error),
    );

  onEffectCancelled: ActorStore['onEffectCancelled'] = (stop) => this.#notices.onCancel(stop);

  readEvents: ActorStore['readEvents'] = (partition, address, after, limit) =>
    this.#readPartition(partition, [], ({ actors }, state) => actors.events(state, address, after, limit));

  onEvents: ActorStore['onEvents'] = (address, wake) => this.#notices.events.subscribe(address, wake);

  readJournal: ActorStore['readJournal'] = (partition, after, limit) =>
    this.#readPartition(partition, [], ({ journal }, state) => journal.read(state, after, limit));

  trimJournal = (lease: Lease, upTo: number) =>
    this.#write(({ book, journal }) => {
      const state = book.held(lease);
      if (state !== undefined) journal.trim(state, upTo);
    });

  place: ActorStore['place'] = (home, address, partition) =>
    this.#write(({ directory }) => directory.place(home, address, partition));

  locate: ActorStore['locate'] = (home, address) => this.#read(({ directory }) => directory.locate(home, address));

  unplace: ActorStore['unplace'] = (home, address, partition) =>
    this.#write(({ directory }) => directory.unplace(home, address, partition));

  facts = () => this.#read(({ facts }) => facts.all());

  keepFact = (name: string, value: string) => this.#write(({ facts }) => facts.keep(name, value));

  /** The file's `user_version` refuses older programs since the file was brought to this format. */
  refuseOlderPrograms = async () => {};

  placed: ActorStore['placed'] = (home, page) => this.#read(({ directory }) => directory.placed(home, page));

  #tables(): Opened {
    if (this.#opened === undefined) throw isClosed();
    return this.#opened;
  }

  /** Runs a call in the next group. Resolves once the group is durable, or written when `isDurable` is false. */
  #write<T>(call: (tables: Opened, now: number) => T, isDurable = true): Promise<T> {
    const tables = this.#opened;
    if (tables === undefined) return Promise.reject(isClosed());
    return tables.group.write(() => call(tables, this.#time.now()), isDurable);
  }

  /** Runs a read between groups, so that it sees only committed data. */
  async #read<T>(call: (tables: Opened) => T): Promise<T> {
    const tables = this.#tables();
    try {
      return call(tables);
    } catch (error) {
      if (this.#pages.mends(error, tables.database)) return this.#read(call);
      throw storeError(error);
    }
  }

  #readPartition<T>(partition: Log, none: T, call: (tables: Opened, state: PartitionState) => T): Promise<T> {
    return this.#read((tables) => {
      const state = tables.book.find(partition);
      return state === undefined ? none : call(tables, state);
    });
  }

  /** Stores the time for the next run of the process, together with other writes: an idle store writes nothing. */
  #keepTime({ facts }: Opened): void {
    facts.keep(TIME_FACT, String(this.#time.now()));
  }

  #sweepIn(delayMs: number): void {
    this.#stopSweep = this.#clock.after(delayMs, () => {
      const opened = this.#opened;
      if (opened === undefined) return;
      if (!opened.timers.isAnySet() && !opened.effects.isAnyOpen()) this.#time.catchUp();
      if (opened.sweep.idle) return this.#sweepIn(SWEEP_EVERY_MS);
      this.#write(({ sweep }, now) => {
        this.#keepTime(opened);
        return sweep.run(now);
      }).then(
        (more) => this.#sweepIn(more ? SWEEP_MORE_MS : SWEEP_EVERY_MS),
        // The next sweep deletes the rows of a failed one (a full disk, for example).
        () => this.#sweepIn(SWEEP_EVERY_MS),
      );
    });
  }
}

const isClosed = (): SvcError => new SvcError('unavailable', 'the actor store is not open', { store: 'actors' });

/**
 * How much faster or slower than real time the clock runs while it corrects itself: a time-out of a minute is wrong by
 * 6 s at most.
 */
const CORRECTION = 0.1;

/**
 * The clock of the embedded store. While the store is open it follows the monotonic clock, so neither a change of the
 * wall clock nor a sleep of the machine affects it, and timers last as long as requested. It corrects itself slowly
 * towards the wall clock and never goes back, not even over restarts: it starts at the wall clock's time or at its last
 * time, whichever is later.
 */
export class StoreClock {
  readonly #clock: Clock;
  #time: number;
  #at: number;

  constructor(clock: Clock, kept: number) {
    this.#clock = clock;
    this.#time = Math.max(clock.now(), kept);
    this.#at = clock.monotonic();
  }

  /** Unix milliseconds, an integer. */
  now(): number {
    const at = this.#clock.monotonic();
    const passed = Math.max(0, at - this.#at);
    const ahead = this.#clock.now() - (this.#time + passed);
    const most = passed * CORRECTION;
    this.#time += passed + Math.min(Math.max(ahead, -most), most);
    this.#at = at;
    return Math.floor(this.#time);
  }

  /**
   * Jumps to the wall clock's time when that is later. Call it only while no timer waits, because the timer would be
   * due too early.
   */
  catchUp(): void {
    this.#time = Math.max(this.now(), this.#clock.now());
  }
}
