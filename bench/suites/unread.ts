import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition } from '../../runtime/address.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { startRedis } from '../../test/support/redis.ts';
import { closedLoop, medianOf } from '../load.ts';
import { type Plan, type Section, table } from '../report.ts';

const PARTITION: Partition = 'default:0';
const UNREAD = [1_000, 10_000, 100_000];
/** Of one turn of the event loop: as many fill four packs. */
const AT_ONCE = 1_000;
const BODY_CHARACTERS = 300;
const TARGET_MS = 20;
/** Nothing is refused: no actor has so many. */
const BOUND = 1_000_000;
const ONE_AT_A_TIME = 1;

interface Kept {
  readonly name: string;
  readonly store: ActorStore;
  close(): Promise<void>;
}

/** What it takes to tell how many messages wait for an actor, and since when, while they wait unread in one log. */
export async function unread(plan: Plan): Promise<Section> {
  const rows: string[][] = [];
  for (const make of [onRedis, onSqlite]) {
    const kept = await make();
    await kept.store.definePool('default', 1);
    for (const [n, count] of UNREAD.entries()) {
      await fill(kept.store, count - (UNREAD[n - 1] ?? 0));
      rows.push(...(await measured(kept, count, plan)));
    }
    await kept.close();
  }
  return {
    title: 'Messages that wait unread',
    text: [
      table(['store', 'unread in the log', 'question', 'p50 ms', 'p99 ms', `p99 ≤ ${TARGET_MS} at 10,000`], rows),
      `One call at a time, medians of ${plan.repetitions}. Bodies of ${BODY_CHARACTERS} characters, a tenth of the messages for the actor that is asked about.`,
    ].join('\n\n'),
  };
}

const actor = (n: number): Address => addressOf('counter', 'acme', `actor-${n % 10}`);

async function fill(store: ActorStore, count: number): Promise<void> {
  for (let done = 0; done < count; done += AT_ONCE) {
    const deliveries = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, n) => ({
      ...{ id: randomUUID(), to: actor(n), body: 'x'.repeat(BODY_CHARACTERS), fresh: true },
    }));
    await Promise.all(deliveries.map((delivery) => store.append(PARTITION, [delivery], BOUND)));
  }
}

async function measured({ name, store }: Kept, count: number, plan: Plan): Promise<string[][]> {
  const questions: readonly [string, () => Promise<unknown>][] = [
    ['messages of an actor', () => store.depth(PARTITION, actor(0))],
    ['the oldest', () => store.backlog(PARTITION)],
  ];
  if ((await store.depth(PARTITION, actor(0))) !== count / 10) throw new Error('the store counts other messages');
  const rows: string[][] = [];
  for (const [question, ask] of questions) {
    const runs = [];
    for (let round = 0; round < plan.repetitions; round += 1) {
      const load = { inFlight: ONE_AT_A_TIME, warmUpMs: plan.warmUpMs, runMs: plan.runMs };
      runs.push(await closedLoop(load, async () => void (await ask())));
    }
    const { p50Ms, p99Ms } = medianOf(runs);
    const verdict = count !== 10_000 ? '' : p99Ms <= TARGET_MS ? 'reached' : '**missed**';
    rows.push([name, count.toLocaleString('en'), question, p50Ms.toFixed(2), p99Ms.toFixed(2), verdict]);
  }
  return rows;
}

async function onRedis(): Promise<Kept> {
  const redis = await startRedis({ appendfsync: 'everysec' });
  const store = new RedisActorStore({ urls: redis.url, packs: () => true });
  await store.open();
  return {
    ...{ name: 'Redis, appendfsync everysec', store },
    async close() {
      await store.close();
      await redis.stop();
    },
  };
}

async function onSqlite(): Promise<Kept> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-unread-'));
  const store = new SqliteActorStore({ directory });
  await store.open();
  return {
    ...{ name: 'embedded', store },
    async close() {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
