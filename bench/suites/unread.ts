import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { type Address, addressOf, type Partition } from '../../runtime/address.ts';
import { waitingMessages } from '../../runtime/calls/waiting-messages.ts';
import type { Message } from '../../runtime/message.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { createPayloads } from '../../runtime/turns/payload.ts';
import { startRedis } from '../../test/support/redis.ts';
import { closedLoop, medianOf } from '../load.ts';
import { type Plan, type Section, table } from '../report.ts';

const PARTITION: Partition = 'default:0';
const UNREAD = [1_000, 10_000, 100_000];
/** Of one turn of the event loop: as many fill four packs. */
const AT_ONCE = 1_000;
/** Messages of a page. */
const LISTED = 100;
const TARGET_MS = 20;
/** No body is so large that it is in a file. */
const payloads = createPayloads(new FileBlobs({ directory: tmpdir() }));
/** No message is refused: no actor has this many. */
const BOUND = 1_000_000;
const ONE_AT_A_TIME = 1;

interface Kept {
  readonly name: string;
  readonly store: ActorStore;
  close(): Promise<void>;
}

/** What it takes to tell how many messages wait for an actor, since when, and which, while they wait unread in one log. */
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
      `One call at a time, medians of ${plan.repetitions}. Bodies of some 300 characters, a tenth of the messages for the actor that is asked about.`,
    ].join('\n\n'),
  };
}

const actor = (n: number): Address => addressOf('counter', 'acme', `actor-${n % 10}`);

/** A message as a client sends it; its body has some 300 characters. */
function messageTo(to: Address, id: string): string {
  const message: Message = {
    ...{ id, to, from: null, cause: null, trace: id.replaceAll('-', ''), origin: 'client', type: 'Add' },
    payload: { note: 'x'.repeat(80) },
  };
  return JSON.stringify(message);
}

async function fill(store: ActorStore, count: number): Promise<void> {
  for (let done = 0; done < count; done += AT_ONCE) {
    const deliveries = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, n) => {
      const [id, to] = [randomUUID(), actor(n)];
      return { id, to, body: messageTo(to, id), fresh: true };
    });
    await Promise.all(deliveries.map((delivery) => store.append(PARTITION, [delivery], BOUND)));
  }
}

/** A page of the list of an actor's waiting messages, as the route reads it. */
function listed({ store }: Kept, address: Address) {
  const registry = { definitionOf: () => undefined };
  const locator = { locate: async () => PARTITION };
  return waitingMessages({ store, payloads, registry, locator }, address, { limit: LISTED });
}

async function measured(kept: Kept, count: number, plan: Plan): Promise<string[][]> {
  const { name, store } = kept;
  const questions: readonly [string, () => Promise<unknown>][] = [
    ['how many of an actor', () => store.depth(PARTITION, actor(0))],
    ['the oldest', () => store.backlog(PARTITION)],
    [`the first ${LISTED} of them`, () => listed(kept, actor(0))],
    ['those of an actor without any', () => listed(kept, addressOf('counter', 'acme', 'other'))],
  ];
  if ((await store.depth(PARTITION, actor(0))) !== count / 10) throw new Error('the store counts other messages');
  const rows: string[][] = [];
  for (const [question, ask] of questions) {
    const runs = [];
    for (let round = 0; round < plan.repetitions; round += 1) {
      // The code is warm after the first round.
      const load = { inFlight: ONE_AT_A_TIME, warmUpMs: round === 0 ? plan.warmUpMs : 0, runMs: plan.runMs / 3 };
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
