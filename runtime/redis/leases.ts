import type { AcquireOutcome, Lease, Leases } from '../actor-store.ts';
import { isLog, isSharedLog, type Log, type Partition } from '../address.ts';
import { positionOf, type Unsubscribe } from '../leases.ts';
import type { FcallBatcher, RedisCalls } from './fcall-batcher.ts';
import { fenceOf, type Keys } from './keys.ts';
import type { LeaseThread } from './lease-thread.ts';
import { integer, integerOrNull, list, text } from './replies.ts';
import type { ServerLives, WakeUps } from './wake-ups.ts';

export class RedisLeases implements Leases {
  readonly #redis: RedisCalls;
  readonly #wakeUps: WakeUps;
  readonly #lives: ServerLives;
  readonly #thread: LeaseThread | null;

  constructor(redis: RedisCalls, wakeUps: WakeUps, lives: ServerLives, thread: LeaseThread | null) {
    this.#redis = redis;
    this.#wakeUps = wakeUps;
    this.#lives = lives;
    this.#thread = thread;
  }

  async acquire(partition: Partition, node: string, grant: string, ttlMs: number, over = ''): Promise<AcquireOutcome> {
    const { meta, timers, states, effects, postponed } = this.#redis.keys.of(partition);
    const number = this.#redis.order.next();
    const reply = await this.#redis.calls.call('acquire', partition, (keys, args) => {
      keys.push(meta, timers, states, effects, postponed);
      args.push(partition, node, grant, ttlMs, over, this.#redis.order.caller, number);
    });
    const [granted, second, third, fourth, life, at, vouched, beside, tail, waiting] = list(reply);
    if (granted !== 1) {
      const behind = text(life);
      const holder = { by: text(second), grant: text(fourth), remainingMs: integer(third) };
      return { kind: 'held', ...holder, ...(isLog(behind) && isSharedLog(behind) ? { behind } : {}) };
    }
    const lease = { log: partition, node, epoch: integer(second), grant };
    this.#lives.granted(lease, text(life), ttlMs);
    const mayBeOlder = vouched === 0;
    const nextTimerAt = integerOrNull(fourth);
    const progress = { cursor: integer(third), beside: integer(beside), tail: integer(tail) };
    const hasPostponed = integer(waiting) > 0;
    return {
      kind: 'granted',
      lease,
      ...progress,
      nextTimerAt,
      at: integer(at),
      mayBeOlder,
      hasPostponed,
      mayHaveLostAll: vouched === 2,
    };
  }

  async vouch(lease: Lease): Promise<boolean> {
    const reply = await this.#redis.calls.call('vouch', lease.log, (keys, args) => {
      keys.push(this.#redis.keys.of(lease.log).meta);
      args.push(fenceOf(lease), this.#lives.at(lease));
    });
    return reply === 1;
  }

  async renew(leases: readonly Lease[], ttlMs: number): Promise<Lease[]> {
    const kept = await Promise.all(
      leases.map(async (lease) => {
        const life = this.#lives.at(lease);
        const isKept = await renewLease(this.#redis.calls, this.#redis.keys, lease, ttlMs, life);
        if (isKept) this.#thread?.renewed(lease, life, ttlMs);
        return isKept;
      }),
    );
    return leases.filter((_, n) => kept[n] !== true);
  }

  async cameBackAt(lease: Lease<Partition>): Promise<number | null> {
    const reply = await this.#redis.calls.call('came_back', lease.log, (keys, args) => {
      keys.push(this.#redis.keys.of(lease.log).meta);
      args.push(this.#lives.at(lease));
    });
    if (reply === 0) return null;
    const [cursor, beside] = list(reply);
    return positionOf(integer(cursor), integer(beside));
  }

  renewedAt(lease: Lease): number | null {
    return this.#thread?.renewedAt(lease) ?? null;
  }

  freeze(ms: number): void {
    this.#thread?.freeze(ms);
  }

  /** Time of the server that has the log, Unix milliseconds. */
  async now(log: Log): Promise<number> {
    return integer(await this.#redis.calls.call('now', log, (keys) => keys.push(this.#redis.keys.of(log).meta)));
  }

  async release(lease: Lease<Partition>): Promise<void> {
    this.#lives.released(lease);
    await this.#redis.calls.call('release', lease.log, (keys, args) => {
      keys.push(this.#redis.keys.of(lease.log).meta);
      args.push(fenceOf(lease));
    });
  }

  onWake(node: string, wake: (log: Log) => void): Unsubscribe {
    return this.#wakeUps.onWake(node, wake);
  }
}

/** Extends a lease. False: it is lost. `life` is that of the server that granted it. */
export async function renewLease(
  calls: FcallBatcher,
  keys: Keys,
  lease: Lease,
  ttlMs: number,
  life: string,
): Promise<boolean> {
  const reply = await calls.call('renew', lease.log, (names, args) => {
    names.push(keys.of(lease.log).meta);
    args.push(fenceOf(lease), ttlMs, life);
  });
  return reply === 1;
}
