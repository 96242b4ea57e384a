import { Cluster } from 'ioredis';
import type { Partition } from '../address.ts';
import { isPartition } from '../address.ts';
import { SvcError } from '../errors.ts';
import { redisFailure } from './connection.ts';
import type { RedisCalls } from './fcall-batcher.ts';
import { heardField } from './keys.ts';
import { integer } from './replies.ts';

/** Entries read from an outbox at a time. */
const PAGE = 256;

interface Owed {
  readonly id: string;
  readonly seq: number;
  readonly body: string;
}

/** A partition that owes messages, and the life of the server that granted its lease; '' when it is not known. */
interface Source {
  readonly source: Partition;
  readonly serverLife: string;
}

/**
 * Delivers messages to other partitions (K3), in order per target: a page's messages go out in one call, the next page
 * after that was acknowledged. Two relays at once do no harm, because the target drops messages that it has received
 * before.
 */
export class Outbox {
  readonly #redis: RedisCalls;

  constructor(redis: RedisCalls) {
    this.#redis = redis;
  }

  /**
   * Sends one page, and further pages while targets fail. Returns whether something is left. `serverLife` is that of
   * the server that granted the lease of the source.
   */
  async flush(source: Partition, serverLife: string): Promise<boolean> {
    const blocked = new Set<Partition>();
    const failures: unknown[] = [];
    let start = '-';
    for (;;) {
      const page = await this.#read(source, start);
      const last = page.at(-1);
      if (last === undefined) break;
      start = `(${last[0]}`;
      const delivered = await this.#send({ source, serverLife }, byTarget(page), blocked, failures);
      if (delivered.length > 0) {
        const left = await this.#acknowledge(source, serverLife, delivered);
        if (failures.length === 0) return left > 0;
      }
    }
    if (failures.length > 0) throw failures[0];
    return false;
  }

  async #read(source: Partition, start: string): Promise<[id: string, fields: string[]][]> {
    try {
      return await this.#redis.connection.xrange(this.#redis.keys.of(source).outbox, start, '+', 'COUNT', PAGE);
    } catch (error) {
      throw redisFailure(error);
    }
  }

  /**
   * Sends messages and returns the ids of the entries that arrived. A target that failed gets nothing more in this
   * flush, so that the order is kept.
   */
  async #send(
    from: Source,
    targets: ReadonlyMap<Partition, readonly Owed[]>,
    blocked: Set<Partition>,
    failures: unknown[],
  ): Promise<string[]> {
    const delivered: string[] = [];
    await Promise.all(
      [...targets].map(async ([target, owed]) => {
        if (blocked.has(target)) return;
        try {
          await this.#receive(from, target, owed);
          for (const { id } of owed) delivered.push(id);
        } catch (error) {
          blocked.add(target);
          failures.push(error);
        }
      }),
    );
    return delivered;
  }

  async #receive({ source, serverLife }: Source, target: Partition, owed: readonly Owed[]): Promise<void> {
    const { meta, mail } = this.#redis.keys.of(target);
    const life = this.#isOneServer(source, target) ? serverLife : '';
    const reply = await this.#redis.calls.call('receive', target, (keys, args) => {
      keys.push(meta, mail);
      args.push(heardField(source), life, owed.length);
      for (const { seq, body } of owed) args.push(seq, body);
    });
    if (integer(reply) >= 0) return;
    const text = `Redis restarted or failed over after it granted ${source}: its outbox is sent when a node has acquired it again.`;
    throw new SvcError('unavailable', text, { store: 'actors' });
  }

  /** Whether source and target always are on one server. The life of another server is not known. */
  #isOneServer(source: Partition, target: Partition): boolean {
    if (!(this.#redis.connection instanceof Cluster)) return true;
    const tag = this.#redis.keys.tagOf(source);
    return tag === '' ? source === target : tag === this.#redis.keys.tagOf(target);
  }

  async #acknowledge(source: Partition, serverLife: string, ids: readonly string[]): Promise<number> {
    const { meta, outbox } = this.#redis.keys.of(source);
    const reply = await this.#redis.calls.call('acknowledge', source, (keys, args) => {
      keys.push(meta, outbox);
      args.push(serverLife, ids.length, ...ids);
    });
    return integer(reply);
  }
}

function byTarget(page: readonly [id: string, fields: string[]][]): Map<Partition, Owed[]> {
  const targets = new Map<Partition, Owed[]>();
  for (const [id, [, target, , body]] of page) {
    if (target === undefined || body === undefined || !isPartition(target)) continue;
    const owed = targets.get(target);
    const entry = { id, seq: integer(id.slice(0, id.indexOf('-'))), body };
    if (owed === undefined) targets.set(target, [entry]);
    else owed.push(entry);
  }
  return targets;
}
