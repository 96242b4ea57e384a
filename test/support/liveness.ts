import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { isLog, type Log, partitionsOf } from '../../runtime/address.ts';
import type { StoreLocation } from '../../runtime/open-stores.ts';
import { countOf } from '../../runtime/redis/facts.ts';
import { Keys } from '../../runtime/redis/keys.ts';

/** When faults stop, everything that was under way ends within this. */
export const LIVENESS_MS = 30_000;
/** A timer that is due for less may still be on its way. */
const TIMER_GRACE_MS = 2_000;
const LOOK_EVERY_MS = 250;

/** One partition as the store itself has it. No node is asked. */
interface PartitionLook {
  readonly partition: string;
  readonly cursor: number;
  readonly tail: number;
  /** Journal rows that the projector has not carried over: where they begin; null for none. */
  readonly journalFrom: number | null;
  readonly effects: readonly string[];
  /** Ids of timers that are overdue. */
  readonly timers: readonly string[];
  readonly outbox: number;
  /** Numbers of postponed messages. */
  readonly postponed: readonly string[];
  /** Addresses with a record. */
  readonly actors: readonly string[];
}

export interface LivenessOptions {
  /** The actor store: its directory, or the URL of one Redis. */
  readonly location: Pick<StoreLocation, 'dataDir' | 'redis'>;
  /** Base URL of a node: its lists say of each run what the run's own state says. */
  readonly url?: string;
  /** Of each list the newest are compared. */
  readonly mostListed?: number;
  /** Ids of runs that have ended: the actor store holds nothing of them. */
  readonly ended?: readonly string[];
  readonly withinMs?: number;
}

/**
 * The rule of every chaos scenario once its faults have stopped: each mailbox is read to the tail it had then, each
 * message owed to another partition is handed over, each effect that was open has ended, each due timer has fired, the
 * journal is projected, and nothing of ended runs is left. Answers what is still not so, a sentence each.
 */
export async function livenessBroken(options: LivenessOptions): Promise<string[]> {
  const { location, url, ended = [], withinMs = LIVENESS_MS, mostListed = MOST_LISTED } = options;
  const store = openLooks(location);
  try {
    const first = new Map((await store.look()).map((look) => [look.partition, look]));
    if (first.size === 0) return ['the store has no partitions: nothing was looked at'];
    const deadline = performance.now() + withinMs;
    for (;;) {
      const looks = await store.look();
      const broken = [
        ...looks.flatMap((now) => brokenIn(now, first.get(now.partition), ended)),
        ...(url === undefined ? [] : await listsBroken(url, mostListed)),
      ];
      if (broken.length === 0 || performance.now() > deadline) return broken;
      // A pause between two looks; the looks decide.
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  } finally {
    await store.close();
  }
}

function brokenIn(now: PartitionLook, first: PartitionLook | undefined, ended: readonly string[]): string[] {
  if (first === undefined) return [];
  const { partition } = now;
  const effects = now.effects.filter((id) => first.effects.includes(id));
  const timers = now.timers.filter((id) => first.timers.includes(id));
  const postponed = now.postponed.filter((id) => first.postponed.includes(id));
  const actors = now.actors.filter((address) => ended.some((id) => address.endsWith(`/${id}`)));
  const unread = now.cursor < first.tail;
  const unprojected = now.journalFrom !== null && now.journalFrom <= first.cursor;
  return [
    ...(unread ? [`${partition} is read to ${now.cursor}, its tail was ${first.tail}`] : []),
    ...(unprojected ? [`${partition}: the journal is not projected from ${now.journalFrom} on`] : []),
    ...(now.outbox > 0 && first.outbox > 0 ? [`${partition} owes ${now.outbox} messages to other partitions`] : []),
    ...postponed.map((id) => `${partition}: message ${id} is postponed`),
    ...effects.map((id) => `${partition}: effect ${id} has not ended`),
    ...timers.map((id) => `${partition}: timer ${id} is overdue`),
    ...actors.map((address) => `${partition}: ${address} has ended and its record is left`),
  ];
}

const LISTS = ['/v1/executions', '/v1/workflows/executions'] as const;
const Listed = z.object({ executions: z.array(z.object({ execution_id: z.string(), status: z.string() })) });
const Status = z.object({ status: z.string() });
const MOST_LISTED = 200;

/** Where a list says something else of a run than the run's own state. */
async function listsBroken(url: string, most: number): Promise<string[]> {
  const pages = await Promise.all(
    LISTS.map(async (path) => {
      const answer = await fetch(`${url}${path}?limit=${most}`);
      if (!answer.ok) return [`${path} answered ${answer.status}`];
      const compared = Listed.parse(await answer.json()).executions.map(async ({ execution_id: id, status }) => {
        const own = await fetch(`${url}${path}/${id}`);
        const state = own.ok ? Status.parse(await own.json()).status : `not found (${own.status})`;
        return state === status ? [] : [`${path} lists ${id} as ${status}, its state is ${state}`];
      });
      return (await Promise.all(compared)).flat();
    }),
  );
  return pages.flat();
}

interface Looks {
  look(): Promise<PartitionLook[]>;
  close(): Promise<void>;
}

function openLooks({ dataDir, redis }: LivenessOptions['location']): Looks {
  const [url] = redis ?? [];
  return url === undefined ? sqliteLooks(dataDir) : redisLooks(url);
}

function redisLooks(url: string): Looks {
  const redis = new Redis(url);
  redis.on('error', () => {});
  const keys = new Keys('svc');
  const lookAt = async (partition: Log, now: number): Promise<PartitionLook> => {
    const own = keys.of(partition);
    const [[cursor, tail], rows, effects, timers, outbox, postponed, actors] = await Promise.all([
      redis.hmget(own.meta, 'cursor', 'tail'),
      redis.xrange(own.journal, '-', '+', 'COUNT', 1),
      redis.hkeys(own.effects),
      redis.zrangebyscore(own.timers, '-inf', now - TIMER_GRACE_MS),
      redis.xlen(own.outbox),
      redis.xrange(own.postponed, '-', '+'),
      redis.hkeys(own.states),
    ]);
    const journal = rows[0]?.[0];
    const journalFrom = journal === undefined ? null : Number(journal.split('-')[0]);
    const waits = postponed.map(([id]) => id);
    const progress = { cursor: Number(cursor), tail: Number(tail), journalFrom };
    return { partition, ...progress, effects, timers, outbox, postponed: waits, actors };
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
    async close() {
      redis.disconnect();
    },
  };
}

function sqliteLooks(directory: string): Looks {
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
          actors: column('SELECT address FROM actors WHERE partition = ? AND record IS NOT NULL', id),
        };
      });
    },
    async close() {
      database.close();
    },
  };
}
