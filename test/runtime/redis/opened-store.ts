import type { TestContext } from 'node:test';
import { Redis } from 'ioredis';
import { RedisActorStore } from '../../../runtime/redis/redis-actor-store.ts';
import { startRedis } from '../../support/redis.ts';

/** An open store on a Redis of its own, or on the one at `url`, and a connection that looks into that Redis. Both are closed when the test ends. */
export async function openedStore(
  test: TestContext,
  url?: string,
): Promise<{ readonly admin: Redis; readonly store: RedisActorStore }> {
  const server = url === undefined ? await startRedis() : null;
  const urls = url ?? server?.url ?? '';
  const admin = new Redis(urls);
  const store = new RedisActorStore({ urls });
  test.after(async () => {
    await Promise.all([store.close(), admin.quit()]);
    await server?.stop();
  });
  await store.open();
  return { admin, store };
}
