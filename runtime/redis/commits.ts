import type { Commit, CommitOutcome, Commits, Lease } from '../actor-store.ts';
import { type Address, asAddress, isSharedLog, type Log, type Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import type { MailboxEntry } from '../message.ts';
import { readCommitOutcome, writeCommit } from './commit-section.ts';
import { type Connection, redisFailure } from './connection.ts';
import type { CallOrder, FcallBatcher } from './fcall-batcher.ts';
import { fenceOf, type Keys, wakeUpOf } from './keys.ts';
import type { Outbox } from './outbox.ts';
import { integerOrNull, list, readEntries } from './replies.ts';
import type { ServerLives, WakeUps } from './wake-ups.ts';

/** A Lua function must not put more than some thousand values on its stack at once. */
const MOST_READ_AHEAD = 1_000;

const MOST_HANDLED = 3_000;

/** What the commits may have, because no program that cannot read it is in the fleet. */
interface MayWrite {
  /** Entries in packs (format 3). */
  readonly packs: () => boolean;
  /** Several events in one entry of a stream (format 6). */
  readonly eventPacks: () => boolean;
}

export class RedisCommits implements Commits {
  readonly #connection: Connection;
  readonly #calls: FcallBatcher;
  readonly #wakeUps: WakeUps;
  readonly #keys: Keys;
  readonly #outbox: Outbox;
  readonly #lives: ServerLives;
  readonly #may: MayWrite;
  readonly #shares: (log: Log, partition: Partition) => boolean;
  /** The id under which each commit is written. The same object again is the same commit. */
  readonly #ids = new WeakMap<Commit, string>();
  readonly #order: CallOrder;

  constructor(
    connection: Connection,
    calls: FcallBatcher,
    wakeUps: WakeUps,
    keys: Keys,
    outbox: Outbox,
    lives: ServerLives,
    order: CallOrder,
    may: MayWrite,
    shares: (log: Log, partition: Partition) => boolean,
  ) {
    this.#connection = connection;
    this.#calls = calls;
    this.#wakeUps = wakeUps;
    this.#keys = keys;
    this.#outbox = outbox;
    this.#lives = lives;
    this.#order = order;
    this.#may = may;
    this.#shares = shares;
  }

  async poll(
    asks: readonly { readonly lease: Lease; readonly after: number }[],
    limit: number,
  ): Promise<(MailboxEntry[] | null)[]> {
    return Promise.all(
      asks.map(({ lease, after }) => this.#wakeUps.take(lease, after, limit) ?? this.#poll(lease, after, limit)),
    );
  }

  async #poll(lease: Lease, after: number, limit: number): Promise<MailboxEntry[] | null> {
    const { meta, mail } = this.#keys.of(lease.log);
    const reply = await this.#calls.call('poll', lease.log, (keys, args) => {
      keys.push(meta, mail);
      args.push(after, limit, fenceOf(lease), wakeUpOf(lease), this.#lives.at(lease));
    });
    return reply === 0 ? null : readEntries(list(reply), 0, after);
  }

  async load(partition: Partition, addresses: readonly Address[]): Promise<(string | null)[]> {
    if (addresses.length === 0) return [];
    try {
      return await this.#connection.hmget(this.#keys.of(partition).states, ...addresses);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async recorded(partition: Partition): Promise<Address[]> {
    try {
      const addresses = await this.#connection.hkeys(this.#keys.of(partition).states);
      return addresses.map(asAddress);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async actorCount(partition: Partition): Promise<number> {
    try {
      return await this.#connection.hlen(this.#keys.of(partition).states);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async commit(commit: Commit, readAhead: number): Promise<CommitOutcome> {
    if (commit.handled.length > MOST_HANDLED) {
      throw new SvcError('invalid_argument', `handled must name at most ${MOST_HANDLED} actors`, { field: 'handled' });
    }
    const call = {
      id: this.#idOf(commit),
      serverLife: this.#lives.at(commit.lease),
      readAhead: Math.min(readAhead, MOST_READ_AHEAD),
      packs: this.#may.packs(),
      eventPacks: this.#may.eventPacks(),
      shares: (partition: Partition) => this.#shares(commit.lease.log, partition),
    };
    const reply = await this.#calls.call('commit', commit.lease.log, (keys, args) =>
      writeCommit(commit, call, this.#keys, keys, args),
    );
    return readCommitOutcome(reply, commit.upTo);
  }

  #idOf(commit: Commit): string {
    let id = this.#ids.get(commit);
    if (id === undefined) {
      id = `${this.#order.caller}${this.#order.next()}`;
      this.#ids.set(commit, id);
    }
    return id;
  }

  async fireTimers(leases: readonly Lease<Partition>[]): Promise<(number | null)[]> {
    const replies = await Promise.all(
      leases.map((lease) =>
        this.#calls.call('fire_timers', lease.log, (keys, args) => {
          const { meta, mail, timers, timerBodies } = this.#keys.of(lease.log);
          keys.push(meta, mail, timers, timerBodies);
          args.push(fenceOf(lease));
        }),
      ),
    );
    return replies.map(integerOrNull);
  }

  async timersDue(partition: Partition, ids: readonly string[]): Promise<(number | null)[]> {
    if (ids.length === 0) return [];
    try {
      const due = await this.#connection.zmscore(this.#keys.of(partition).timers, [...ids]);
      return due.map((score) => (score === null ? null : Number(score)));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  flushOutbox(lease: Lease<Partition>): Promise<boolean> {
    return this.#outbox.flush(lease.log, this.#lives.at(lease));
  }

  async forget(
    lease: Lease,
    after: number,
    addresses: readonly Address[],
    partition = isSharedLog(lease.log) ? undefined : lease.log,
  ): Promise<boolean> {
    if (partition === undefined) throw new SvcError('internal', 'a shared log does not say where its actors live');
    const { meta, states, eventTails } = this.#keys.of(partition);
    const reply = await this.#calls.call('forget', lease.log, (keys, args) => {
      keys.push(this.#keys.of(lease.log).meta, meta, states, eventTails);
      args.push(fenceOf(lease), after, addresses.length);
      for (const address of addresses) {
        keys.push(this.#keys.events(partition, address));
        args.push(address);
      }
    });
    return reply === 1;
  }
}
