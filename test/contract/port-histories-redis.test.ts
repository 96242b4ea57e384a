import { describe, test } from 'node:test';
import { Redis } from 'ioredis';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { seeded } from '../support/faulty-store.ts';
import { redisMissing, startRedis } from '../support/redis.ts';
import { startRedisWire } from '../support/redis-wire.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { sharedLogHistory } from './shared-log-histories.ts';
import { StoreDriver } from './store-under-test.ts';

/** Of each call: it arrives twice at once, again later, without an answer, or later with no answer. */
const RATES = { twice: 0.05, late: 0.05, answerLost: 0.02, orphaned: 0.01 };
const CALM = { twice: 0, late: 0, answerLost: 0, orphaned: 0 };

/** Seeds that failed once, each with what it found. They run at every size. */
const FAILED: readonly number[] = [
  5, // a process sent along a route that the store had lost: acknowledged and unread
  40, // the history itself: a late copy of a commit without `upToAt` skipped messages that had come since
  647, // two tries of one message, both late: each was taken by a store that had lost that their writers were closed
  944, // the history itself: a node served partitions whose closed log it had lost, so their order was broken
];

/** `SVC_SEED` alone, or as many as `SVC_HISTORIES` says, from `SVC_FIRST_SEED` on. */
function seeds(): readonly number[] {
  const { SVC_SEED: one, SVC_HISTORIES: many, SVC_FIRST_SEED: first } = process.env;
  if (one !== undefined) return [Number(one)];
  const count = Number(many ?? sample({ quick: 2, normal: 8, long: 1_000 }));
  return [...new Set([...FAILED, ...Array.from({ length: count }, (_, n) => Number(first ?? 1) + n)])];
}

describe('histories at the store port, over a bad network and a store that goes back', {
  skip: redisMissing() ?? false,
}, () => {
  for (const seed of seeds()) {
    test(`append, hand-over, adoption and death: each kept message once and in order, no log unread (SVC_SEED=${seed})`, () =>
      play(seed));
  }
});

async function play(seed: number): Promise<void> {
  // It comes back with what it had at the last SAVE, and nothing of what came after that.
  const server = await startRedis({ args: ['--appendonly', 'no'] });
  const wire = await startRedisWire(server.port, seeded(seed + 7_919));
  const admin = new Redis(server.url);
  // It comes back by itself after a restart of its server.
  admin.on('error', () => {});
  const opened: RedisActorStore[] = [];
  const open = async (): Promise<RedisActorStore> => {
    const store = new RedisActorStore({ urls: `redis://127.0.0.1:${wire.port}`, packs: () => true });
    opened.push(store);
    await store.open();
    return store;
  };
  try {
    const driver = new StoreDriver({ store: await open(), another: open, close: async () => {} }).insisting();
    Object.assign(wire.rates, RATES);
    await sharedLogHistory(driver, seed, {
      done: { joins: 0, resumed: 0 },
      rollback: {
        async mark() {
          await admin.save();
        },
        async goBack() {
          await server.restart();
          await waitUntil('the server answers', () =>
            admin.ping().then(
              () => true,
              () => false,
            ),
          );
        },
      },
      async calm() {
        Object.assign(wire.rates, CALM);
        await wire.deliverLate();
      },
    });
  } finally {
    for (const store of opened) await store.close();
    admin.disconnect();
    await wire.close();
    await server.stop();
  }
}
