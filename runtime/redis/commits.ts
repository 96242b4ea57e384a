import type { Commit, CommitOutcome, Commits, Lease } from '../actor-store.ts';
import { type Address, asAddress, isSharedLog, type Log, type Partition } from '../address.ts';
import { SvcError } from '../errors.ts';
import type { MailboxEntry } from '../message.ts';
import { readCommitOutcome, writeCommit } from './commit-section.ts';
import { redisFailure } from './connection.ts';
import type { RedisCalls } from './fcall-batcher.ts';
import { fenceOf, wakeUpOf } from './keys.ts';
import type { Outbox } from './outbox.ts';
import { integerOrNull, list, readEntries } from './replies.ts';
import type { ServerLives, WakeUps } from './wake-ups.ts';

/** A Lua function must not put more than some thousand values on its stack at once. */
const MOST_READ_AHEAD = 1_000;

const MOST_HANDLED = 3_000;

interface CommitParts {
  readonly wakeUps: WakeUps;
  readonly outbox: Outbox;
  readonly lives: ServerLives;
  /** Whether commits may have entries in packs (format 3): no program that cannot read them is in the fleet. */
  readonly packs: () => boolean;
  /** The same for several events in one entry of a stream (format 6). */
  readonly eventPacks: () => boolean;
  readonly shares: (log: Log, partition: Partition) => boolean;
}

export class RedisCommits implements Commits {
  readonly #redis: RedisCalls;
  readonly #parts: CommitParts;
  /** The id under which each commit is written. The same object again is the same commit. */
  readonly #ids = new WeakMap<Commit, string>();

  constructor(redis: RedisCalls, parts: CommitParts) {
    this.#redis = redis;
    this.#parts = parts;
  }

  async poll(
    asks: readonly { readonly lease: Lease; readonly after: number }[],
    limit: number,
  ): Promise<(MailboxEntry[] | null)[]> {
    return Promise.all(
      asks.map(({ lease, after }) => this.#parts.wakeUps.take(lease, after, limit) ?? this.#poll(lease, after, limit)),
    );
  }

  async #poll(lease: Lease, after: number, limit: number): Promise<MailboxEntry[] | null> {
    const { meta, mail } = this.#redis.keys.of(lease.log);
    const reply = await this.#redis.calls.call('poll', lease.log, (keys, args) => {
      keys.push(meta, mail);
      args.push(after, limit, fenceOf(lease), wakeUpOf(lease), this.#parts.lives.at(lease));
    });
    return reply === 0 ? null : readEntries(list(reply), 0, after);
  }

  async load(partition: Partition, addresses: readonly Address[]): Promise<(string | null)[]> {
    if (addresses.length === 0) return [];
    try {
      return await this.#redis.connection.hmget(this.#redis.keys.of(partition).states, ...addresses);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async recorded(partition: Partition): Promise<Address[]> {
    try {
      const addresses = await this.#redis.connection.hkeys(this.#redis.keys.of(partition).states);
      return addresses.map(asAddress);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async actorCount(partition: Partition): Promise<number> {
    try {
      return await this.#redis.connection.hlen(this.#redis.keys.of(partition).states);
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
      serverLife: this.#parts.lives.at(commit.lease),
      readAhead: Math.min(readAhead, MOST_READ_AHEAD),
      packs: this.#parts.packs(),
      eventPacks: this.#parts.eventPacks(),
      shares: (partition: Partition) => this.#parts.shares(commit.lease.log, partition),
    };
    const reply = await this.#redis.calls.call('commit', commit.lease.log, (keys, args) =>
      writeCommit(commit, call, this.#redis.keys, keys, args),
    );
    return readCommitOutcome(reply, commit.upTo);
  }

  #idOf(commit: Commit): string {
    let id = this.#ids.get(commit);
    if (id === undefined) {
      id = `${this.#redis.order.caller}${this.#redis.order.next()}`;
      this.#ids.set(commit, id);
    }
    return id;
  }

  async fireTimers(leases: readonly Lease<Partition>[]): Promise<(number | null)[]> {
    const replies = await Promise.all(
      leases.map((lease) =>
        this.#redis.calls.call('fire_timers', lease.log, (keys, args) => {
          const { meta, mail, timers, timerBodies } = this.#redis.keys.of(lease.log);
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
      const due = await this.#redis.connection.zmscore(this.#redis.keys.of(partition).timers, [...ids]);
      return due.map((score) => (score === null ? null : Number(score)));
    } catch (error) {
      throw redisFailure(error);
    }
  }

  flushOutbox(lease: Lease<Partition>): Promise<boolean> {
    return this.#parts.outbox.flush(lease.log, this.#parts.lives.at(lease));
  }

  async forget(
    lease: Lease,
    after: number,
    addresses: readonly Address[],
    partition = isSharedLog(lease.log) ? undefined : lease.log,
  ): Promise<boolean> {
    if (partition === undefined) throw new SvcError('internal', 'a shared log does not say where its actors live');
    const { meta, states, eventTails } = this.#redis.keys.of(partition);
    const reply = await this.#redis.calls.call('forget', lease.log, (keys, args) => {
      keys.push(this.#redis.keys.of(lease.log).meta, meta, states, eventTails);
      args.push(fenceOf(lease), after, addresses.length);
      for (const address of addresses) {
        keys.push(this.#redis.keys.events(partition, address));
        args.push(address);
      }
    });
    return reply === 1;
  }
}
