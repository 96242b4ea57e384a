import { randomBytes } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { actorStoreContract, type StoreUnderTest } from '../../contract/actor-store.ts';
import { redisMissing, startRedis } from '../../support/redis.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

/** A store under a fresh key prefix, so that each section begins with nothing. */
async function freshStore(url: string): Promise<StoreUnderTest> {
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const opened: RedisActorStore[] = [];
  const open = async (): Promise<RedisActorStore> => {
    const store = new RedisActorStore({ urls: url, prefix });
    opened.push(store);
    await store.open();
    return store;
  };
  const close = async (): Promise<void> => {
    for (const store of opened.splice(0)) await store.close();
  };
  return {
    store: await open(),
    another: open,
    async reopen() {
      await close();
      return open();
    },
    close,
  };
}

function contractOn(name: string, start: () => Promise<Running>): void {
  describe(name, { skip: redisMissing() ?? false }, () => {
    let server: Running | undefined;
    before(async () => {
      server = await start();
    });
    after(async () => {
      await server?.stop();
    });
    actorStoreContract(name, () => {
      if (server === undefined) throw new Error(`${name} did not start`);
      return freshStore(server.url);
    });
  });
}

contractOn('Redis', () => startRedis());
contractOn('Redis Cluster', () => startRedisCluster());
