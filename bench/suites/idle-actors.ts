import { Redis } from 'ioredis';
import { addressOf, partitionOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../runtime/effects/embedded-effect-queue.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { startRedis } from '../../test/support/redis.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { counter, PAYLOAD } from '../counter.ts';
import { startEmbedded } from '../embedded.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const ACTORS = 100_000;

interface Idle {
  readonly heapPerActor: number;
  readonly storePerActor: number;
}

/** Heap and store bytes of actors that are idle after their creation. */
export async function idleActors(plan: Plan): Promise<Section> {
  const actors = plan.repetitions > 1 ? ACTORS : ACTORS / 10;
  const redis = await onRedis(actors);
  return {
    title: `Idle actors (${whole(actors)})`,
    text: [
      table(
        ['store', 'heap bytes an actor', 'store bytes an actor above its state'],
        [['Redis', redis.heapPerActor.toFixed(1), redis.storePerActor.toFixed(0)]],
      ),
      'Heap: what is used after a forced collection, less the same before the first actor. Store: `used_memory_dataset` of',
      'Redis after the journal was projected and trimmed, less the same before, less the bytes of the states themselves.',
    ].join('\n'),
  };
}

async function onRedis(actors: number): Promise<Idle> {
  const server = await startRedis({ appendfsync: 'everysec' });
  const admin = new Redis(server.url);
  const store = new RedisActorStore({ urls: server.url });
  await store.open();
  // Documents and blobs of an embedded node; only the actor store is Redis here.
  const embedded = await startEmbedded([]);
  const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: console.error });
  await effects.open();
  const runtime = await startRuntime({
    store,
    documents: embedded.ports.documents,
    blobs: embedded.ports.blobs,
    effects,
    definitions: [counter],
    handlers: [],
    node: 'bench-idle',
    settings: { partitions: 256, passivateAfterMs: 500, pollMs: 200 },
    warn: (message, error) => console.error(message, error),
  });
  const create = async (from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at += 500) {
      await Promise.all(
        Array.from({ length: Math.min(500, to - at) }, (_, index) =>
          runtime.client.ask(addressOf('counter', 'bench', `actor-${at + index}`), 'Add', { payload: PAYLOAD }),
        ),
      );
    }
  };
  await create(0, 1_000);
  const settle = async (): Promise<{ heap: number; stored: number }> => {
    await waitUntil('idle actors to leave memory', () => runtime.activations() === 0, 60_000);
    await waitUntil('the journal to be trimmed', async () => (await journalRows(admin)) === 0, 120_000);
    collect();
    const info = await admin.info('memory');
    return { heap: process.memoryUsage().heapUsed, stored: Number(/used_memory_dataset:(\d+)/.exec(info)?.[1]) };
  };
  const before = await settle();
  await create(1_000, 1_000 + actors);
  const after = await settle();
  const sample = addressOf('counter', 'bench', 'actor-2000');
  const partition = partitionOf(sample, { pool: 'default', partitions: 256 });
  const [state = null] = await store.load(partition, [sample]);
  const stateBytes = state?.length ?? 0;
  await runtime.stop();
  await effects.close();
  await store.close();
  await embedded.stop();
  admin.disconnect();
  await server.stop();
  return {
    heapPerActor: (after.heap - before.heap) / actors,
    storePerActor: (after.stored - before.stored) / actors - stateBytes,
  };
}

async function journalRows(admin: Redis): Promise<number> {
  let rows = 0;
  for (const key of await admin.keys('*journal*')) rows += await admin.xlen(key);
  return rows;
}

function collect(): void {
  if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
  globalThis.gc();
  globalThis.gc();
}
