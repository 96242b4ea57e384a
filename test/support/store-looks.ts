import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { isLog, type Log, partitionsOf } from '../../runtime/address.ts';
import type { StoreLocation } from '../../runtime/open-stores.ts';
import { countOf } from '../../runtime/redis/facts.ts';
import { Keys } from '../../runtime/redis/keys.ts';

/** A timer that has been overdue for less may still fire. */
const TIMER_GRACE_MS = 2_000;

/** One partition as the store has it, read without a node. */
export interface PartitionLook {
  readonly partition: string;
  readonly cursor: number;
  readonly tail: number;
  /** First journal row that the projector has not read; null for none. */
  readonly journalFrom: number | null;
  readonly effects: readonly string[];
  /** Ids of timers that are overdue. */
  readonly timers: readonly string[];
  readonly outbox: number;
  /** Numbers of postponed messages. */
  readonly postponed: readonly string[];
}

interface StoreLooks {
  look(): Promise<PartitionLook[]>;
  /**
   * What the store still has of these ids, a sentence each. The log and the answers to messages are not checked, since the
   * store keeps them for a while after a run has ended.
   */
  leftOf(ids: ReadonlySet<string>): Promise<string[]>;
  close(): Promise<void>;
}

export function openLooks({ dataDir, redis }: Pick<StoreLocation, 'dataDir' | 'redis'>): StoreLooks {
  const [url] = redis ?? [];
  return url === undefined ? sqliteLooks(dataDir) : redisLooks(url);
}

/** Ids are whole words of keys, addresses and timer ids. */
const names = (text: string, ids: ReadonlySet<string>): boolean =>
  text.split(/[^0-9A-Za-z_-]+/).some((word) => ids.has(word));

function redisLooks(url: string): StoreLooks {
  const redis = new Redis(url);
  redis.on('error', () => {});
  const keys = new Keys('svc');
  const lookAt = async (partition: Log, now: number): Promise<PartitionLook> => {
    const own = keys.of(partition);
    const [[cursor, tail], rows, effects, timers, outbox, postponed] = await Promise.all([
      redis.hmget(own.meta, 'cursor', 'tail'),
      redis.xrange(own.journal, '-', '+', 'COUNT', 1),
      redis.hkeys(own.effects),
      redis.zrangebyscore(own.timers, '-inf', now - TIMER_GRACE_MS),
      redis.xlen(own.outbox),
      redis.xrange(own.postponed, '-', '+'),
    ]);
    const journal = rows[0]?.[0];
    const journalFrom = journal === undefined ? null : Number(journal.split('-')[0]);
    const waits = postponed.map(([id]) => id);
    const progress = { cursor: Number(cursor), tail: Number(tail), journalFrom };
    return { partition, ...progress, effects, timers, outbox, postponed: waits };
  };
  return {
    async look() {
      const [pools, shared, [seconds]] = await Promise.all([
        redis.hgetall(keys.pools),
        redis.hkeys(keys.logs('')),
        redis.time(),
      ]);
      const partitions = Object.entries(pools).flatMap(([pool, count]) =>
        partitionsOf({ pool, partitions: countOf(count) }),
      );
      const logs = [...partitions, ...shared.filter(isLog)];
      return Promise.all(logs.map((log) => lookAt(log, Number(seconds) * 1_000)));
    },
    async leftOf(ids) {
      const left: string[] = [];
      for await (const batch of redis.scanStream({ count: 500 })) {
        const found = await Promise.all(batch.map((key: string) => leftIn(redis, key, ids)));
        left.push(...found.flat());
      }
      return left;
    },
    async close() {
      redis.disconnect();
    },
  };
}

/** Streams of messages and rows that are trimmed as they are read, and answers that are kept for repeats of a call. */
const KEPT_A_WHILE = /:(mail|journal|replies|older)$/;
/** Events of one actor, which the key names: those of an actor that lives on, such as a delivery, may name runs that have ended. */
const BY_KEY = /:events:/;
/** Hashes of a partition: their fields name actors. Records of others may name what has ended. */
const BY_FIELD = /:(meta|states|event-tails|depths|held|timer-bodies|directory)$/;
/** In `meta`: a message that was seen, with its answer, and what programs of format 2 count; both go with their generation. */
const OF_GENERATION = /^[#@]/;

async function leftIn(redis: Redis, key: string, ids: ReadonlySet<string>): Promise<string[]> {
  if (KEPT_A_WHILE.test(key)) return [];
  if (names(key, ids)) return [`${key} is left`];
  if (BY_KEY.test(key)) return [];
  const words = await wordsIn(redis, key);
  return words.filter((word) => names(word, ids)).map((word) => `${key} has ${word.slice(0, 200)}`);
}

async function wordsIn(redis: Redis, key: string): Promise<string[]> {
  if (BY_FIELD.test(key)) return (await redis.hkeys(key)).filter((field) => !OF_GENERATION.test(field));
  switch (await redis.type(key)) {
    case 'hash':
      return Object.entries(await redis.hgetall(key)).map(([field, value]) => `${field} ${value}`);
    case 'zset':
      return redis.zrangebyscore(key, '-inf', '+inf');
    case 'set':
      return redis.smembers(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'stream':
      return (await redis.xrange(key, '-', '+')).map(([id, fields]) => `${id} ${fields.join(' ')}`);
    case 'string':
      return [(await redis.get(key)) ?? ''];
    default:
      return [];
  }
}

/** Every table of the embedded store that names an actor. */
const NAMED = {
  actors: 'SELECT address FROM actors',
  events: 'SELECT DISTINCT address FROM events JOIN actors ON actors.id = events.actor',
  waiting: 'SELECT address FROM waiting',
  timers: 'SELECT id FROM timers',
  effects: 'SELECT address FROM effects',
  directory: 'SELECT address FROM directory',
} as const;

function sqliteLooks(directory: string): StoreLooks {
  const database = new DatabaseSync(join(directory, 'actors.db'), { readOnly: true, timeout: 5_000 });
  const all = (sql: string, ...values: (number | string)[]) => database.prepare(sql).all(...values);
  const column = (sql: string, ...values: (number | string)[]): string[] =>
    all(sql, ...values).map((row) => String(Object.values(row)[0]));
  const number = (sql: string, ...values: (number | string)[]): number | null => {
    const [value] = column(sql, ...values);
    return value === undefined || value === 'null' ? null : Number(value);
  };
  return {
    async look() {
      return all('SELECT id, name, cursor, tail FROM partitions').map((row) => {
        const id = Number(row.id);
        const due = Date.now() - TIMER_GRACE_MS;
        return {
          partition: String(row.name),
          cursor: Number(row.cursor),
          tail: Math.max(Number(row.tail), number('SELECT max(seq) FROM mailbox WHERE partition = ?', id) ?? 0),
          journalFrom: number('SELECT min(up_to) FROM journal WHERE partition = ?', id),
          effects: column('SELECT id FROM effects WHERE partition = ?', id),
          timers: column('SELECT id FROM timers WHERE partition = ? AND due < ?', id, due),
          outbox: 0,
          postponed: [],
        };
      });
    },
    async leftOf(ids) {
      return Object.entries(NAMED).flatMap(([table, sql]) =>
        column(sql)
          .filter((name) => names(name, ids))
          .map((name) => `table ${table} has ${name}`),
      );
    },
    async close() {
      database.close();
    },
  };
}
