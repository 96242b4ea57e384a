import type { TestContext } from 'node:test';
import { Redis } from 'ioredis';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { startRedis } from '../../support/redis.ts';

/** An open store on a Redis of its own, and a connection that looks into that Redis. Both are closed when the test ends. */
export async function openedStore(
  test: TestContext,
): Promise<{ readonly admin: Redis; readonly store: RedisActorStore }> {
  const server = await startRedis();
  const admin = new Redis(server.url);
  const store = new RedisActorStore({ urls: server.url });
  test.after(async () => {
    await Promise.all([store.close(), admin.quit()]);
    await server.stop();
  });
  await store.open();
  return { admin, store };
}
