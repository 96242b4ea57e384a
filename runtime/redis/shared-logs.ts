import { createHash } from 'node:crypto';
import type { Lease } from '../actor-store.ts';
import { type Address, isLog, isPartition, isSharedLog, type Log, type Partition, type SharedLog } from '../address.ts';
import { SvcError } from '../errors.ts';
import type { AdoptOutcome, SharedLogs } from '../leases.ts';
import type { MailboxEntry } from '../message.ts';
import { redisFailure } from './connection.ts';
import type { RedisCalls } from './fcall-batcher.ts';
import { fenceOf, SLOT_TAGS } from './keys.ts';
import { integer, list, text } from './replies.ts';
import type { ServerLives } from './wake-ups.ts';

const JOINED = ['joined', 'busy', 'ahead', 'lost'] as const;

/**
 * Shared logs on a single Redis, and on a Cluster whose partitions share slots: there, functions reach the keys of all
 * partitions that share a log.
 */
export class RedisSharedLogs implements SharedLogs {
  readonly #redis: RedisCalls;
  readonly #lives: ServerLives;
  readonly #packs: () => boolean;
  /** Partitions of the logs that this process holds. */
  readonly #partitions = new Map<SharedLog, Set<Partition>>();

  /** `packs` is true when no program of format 2 is in the fleet. */
  constructor(redis: RedisCalls, lives: ServerLives, packs: () => boolean) {
    this.#redis = redis;
    this.#lives = lives;
    this.#packs = packs;
  }

  mayBeMade(): boolean {
    return this.#packs();
  }

  tagOf(partition: Partition): string {
    return this.#redis.keys.tagOf(partition);
  }

  /** Whether a commit of the log may write into the mailbox of that partition. */
  shares(log: Log, partition: Partition): boolean {
    return isSharedLog(log) && this.#partitions.get(log)?.has(partition) === true;
  }

  async make(log: SharedLog, node: string, grant: string, ttlMs: number, partitions: readonly Partition[]) {
    const reply = await this.#redis.calls.call('make_log', log, (keys, args) => {
      keys.push(this.#redis.keys.of(log).meta, this.#redis.keys.logs(this.#redis.keys.tagOf(log)));
      args.push(log, node, grant, ttlMs, partitions.length, ...partitions);
    });
    const [made, epoch, cursor, life, at] = list(reply);
    if (made !== 1) return null;
    const lease: Lease<SharedLog> = { log, node, epoch: integer(epoch), grant };
    this.#lives.granted(lease, text(life), ttlMs);
    this.#partitions.set(log, new Set());
    return { kind: 'granted', lease, cursor: integer(cursor), beside: 0, at: integer(at) } as const;
  }

  async join(lease: Lease<SharedLog>, partitions: readonly Lease<Partition>[]) {
    const { log } = lease;
    const reply = await this.#redis.calls.call('join_log', log, (keys, args) => {
      keys.push(this.#redis.keys.of(log).meta);
      args.push(log, fenceOf(lease), this.#lives.at(lease), partitions.length);
      for (const one of partitions) args.push(one.log, fenceOf(one), this.#lives.at(one));
    });
    if (reply === 0) return null;
    const outcomes = list(reply).map(joinOutcome);
    const shared = this.#partitions.get(log);
    for (const [at, one] of partitions.entries()) if (outcomes[at] === 'joined') shared?.add(one.log);
    return outcomes;
  }

  async close(lease: Lease<SharedLog>) {
    const { log } = lease;
    const reply = await this.#redis.calls.call('close_log', log, (keys, args) => {
      keys.push(this.#redis.keys.of(log).meta);
      args.push(log, fenceOf(lease));
    });
    // From here on messages between its partitions go through the outbox, because some of the partitions may be on
    // other nodes.
    this.#partitions.delete(log);
    if (reply === 0) return null;
    const [tail, cursor] = list(reply);
    return { tail: integer(tail), cursor: integer(cursor) };
  }

  async adopt(log: SharedLog, node: string, grant: string, ttlMs: number, over = ''): Promise<AdoptOutcome> {
    const number = this.#redis.order.next();
    const reply = await this.#redis.calls.call('adopt_log', log, (keys, args) => {
      keys.push(this.#redis.keys.of(log).meta);
      args.push(log, node, grant, ttlMs, over, this.#redis.order.caller, number);
    });
    const [kind, second, third, fourth, tail, life, at, vouched, partitions, postponed] = list(reply);
    if (kind === 2) return { kind: 'gone' };
    if (kind !== 1) return { kind: 'held', by: text(second), remainingMs: integer(third), grant: text(fourth) };
    const lease: Lease<SharedLog> = { log, node, epoch: integer(second), grant };
    this.#lives.granted(lease, text(life), ttlMs);
    const progress = { cursor: integer(third), beside: integer(fourth), tail: integer(tail) };
    const mayBeOlder = vouched !== 1;
    return {
      kind: 'granted',
      lease,
      ...progress,
      at: integer(at),
      mayBeOlder,
      partitions: text(partitions).split(',').filter(isPartition),
      postponed: text(postponed).split(',').filter(isPartition),
    };
  }

  async remove(lease: Lease<SharedLog>): Promise<boolean> {
    const { log } = lease;
    const { meta, mail, journal, depths, parts } = this.#redis.keys.of(log);
    const reply = await this.#redis.calls.call('remove_log', log, (keys, args) => {
      keys.push(meta, mail, journal, depths, parts, this.#redis.keys.logs(this.#redis.keys.tagOf(log)));
      args.push(log, fenceOf(lease));
    });
    if (reply === 1) this.#lives.released(lease);
    return reply === 1;
  }

  async forgetEnded(partition: Partition, records: ReadonlyMap<Address, string>): Promise<Address[]> {
    const { states, eventTails } = this.#redis.keys.of(partition);
    const asked = [...records];
    const reply = await this.#redis.calls.call('forget_ended', partition, (keys, args) => {
      keys.push(states, eventTails);
      args.push(asked.length);
      for (const [address, record] of asked) {
        keys.push(this.#redis.keys.events(partition, address));
        args.push(address, createHash('sha1').update(record).digest('hex'));
      }
    });
    const gone = list(reply);
    return asked.filter((_, at) => gone[at] === 1).map(([address]) => address);
  }

  async postponed(partition: Partition, after: number, limit: number): Promise<MailboxEntry[]> {
    try {
      const key = this.#redis.keys.of(partition).postponed;
      const rows = await this.#redis.connection.xrange(key, String(after + 1), '+', 'COUNT', limit);
      return rows.map(([id, fields]) => {
        const seq = integer(id.slice(0, id.indexOf('-')));
        return { seq, at: integer(fields[1]), body: text(fields[3]), partition };
      });
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async list(): Promise<SharedLog[]> {
    try {
      const tags = this.#redis.keys.hasTags ? Array.from({ length: SLOT_TAGS }, (_, n) => `t${n}`) : [''];
      const names = await Promise.all(tags.map((tag) => this.#redis.connection.hkeys(this.#redis.keys.logs(tag))));
      return names.flat().filter(isLog).filter(isSharedLog);
    } catch (error) {
      throw redisFailure(error);
    }
  }
}

function joinOutcome(reply: unknown): (typeof JOINED)[number] {
  const found = JOINED.find((one) => one === reply);
  if (found === undefined)
    throw new SvcError('internal', undefined, { cause: new TypeError('unknown answer to a join') });
  return found;
}
