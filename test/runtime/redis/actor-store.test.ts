import { randomBytes } from 'node:crypto';
import { after, before, describe } from 'node:test';
import type { ActorStore } from '../../../runtime/actor-store.ts';
import { EncryptedActorStore } from '../../../runtime/encryption/encrypted-actor-store.ts';
import { TextCipher } from '../../../runtime/encryption/text-cipher.ts';
import { connect } from '../../../runtime/redis/connection.ts';
import { Keys } from '../../../runtime/redis/keys.ts';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { actorStoreContract, type StoreUnderTest } from '../../contract/actor-store.ts';
import { sharedLogs } from '../../contract/actor-store-shared.ts';
import { TestPayloadKeys } from '../../support/payload-keys.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';
import { type RedisWire, startRedisWire } from '../../support/redis-wire.ts';
import { someOf } from '../../support/size.ts';

/** As a program wrote it that gave each partition a slot of its own. */
async function poolOfEarlierVersion(url: string, prefix: string): Promise<void> {
  const connection = connect(url, 'test', 'commands');
  await connection.connect();
  await connection.hset(new Keys(prefix).pools, 'earlier', '4 format=3');
  connection.disconnect();
}

interface Running {
  readonly url: string;
  readonly wires: readonly RedisWire[];
  stop(): Promise<void>;
}

/** A store under a fresh key prefix, so that each section begins with nothing. */
async function freshStore(
  { url, wires }: Running,
  { packs, tags, encrypted }: Record<'packs' | 'tags' | 'encrypted', boolean>,
): Promise<StoreUnderTest> {
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const opened: RedisActorStore[] = [];
  if (!tags) await poolOfEarlierVersion(url, prefix);
  const open = async (): Promise<ActorStore> => {
    const store = new RedisActorStore({ urls: url, prefix, packs: () => packs, eventPacks: () => packs });
    opened.push(store);
    await store.open();
    if (!encrypted) return store;
    const cipher = new TextCipher();
    cipher.use(new TestPayloadKeys());
    return new EncryptedActorStore(store, cipher);
  };
  const close = async (): Promise<void> => {
    for (const store of opened.splice(0)) await store.close();
  };
  return {
    store: await open(),
    another: open,
    record() {
      const recordings = wires.map((wire) => wire.record());
      return {
        stop() {
          const copies = recordings.map((recording) => recording.stop());
          return async () => {
            for (const deliver of copies) await deliver();
          };
        },
      };
    },
    disturb() {
      for (const { rates } of wires) Object.assign(rates, { twice: 0.1, late: 0.1 });
      return async () => {
        for (const { rates } of wires) Object.assign(rates, { twice: 0, late: 0 });
        for (const wire of wires) await wire.deliverLate();
      };
    },
    async reopen() {
      await close();
      return open();
    },
    close,
  };
}

/**
 * `shared`: partitions of a node may share a log; `tags`: on a Cluster they have slots together; `nth`: sections that a run
 * of normal size takes.
 */
function contractOn(
  name: string,
  start: () => Promise<Running>,
  { packs = true, shared = false, tags = true, encrypted = false, nth = 3 } = {},
): void {
  describe(name, { skip: redisMissing() ?? false }, () => {
    let server: Running | undefined;
    before(async () => {
      server = await start();
    });
    after(async () => {
      await server?.stop();
    });
    const make = () => {
      if (server === undefined) throw new Error(`${name} did not start`);
      return freshStore(server, { packs, tags, encrypted });
    };
    actorStoreContract(name, make, nth);
    if (shared) sharedLogs(make);
  });
}

const wireTo = (port: number) => startRedisWire(port, Math.random);

async function overWire(): Promise<Running> {
  const server = await startRedis();
  const wire = await wireTo(server.port);
  return {
    url: `redis://127.0.0.1:${wire.port}`,
    wires: [wire],
    async stop() {
      await wire.close();
      await server.stop();
    },
  };
}

const overCluster = (): Promise<Running> => startRedisCluster({ wire: wireTo });
contractOn('Redis', overWire, { shared: true, nth: 1 });
contractOn('Redis Cluster', overCluster, { shared: true });
const others: readonly Parameters<typeof contractOn>[] = [
  ['encrypted Redis', overWire, { shared: true, encrypted: true }],
  ['Redis Cluster with data of an earlier version', overCluster, { tags: false }],
  ['Redis, in a fleet with programs of format 2', overWire, { packs: false }],
];
for (const other of someOf(others, 3)) contractOn(...other);
