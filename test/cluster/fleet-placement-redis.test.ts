import { describe } from 'node:test';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { redisMissing, startRedis } from '../support/redis.ts';
import { fleetPlacementContract } from './fleet-placement.ts';

describe('placement over a real Redis', { skip: redisMissing() || false }, () => {
  fleetPlacementContract('Redis', async () => {
    const server = await startRedis();
    const one = new RedisActorStore({ urls: server.url });
    const two = new RedisActorStore({ urls: server.url });
    await one.open();
    await two.open();
    return {
      stores: [one, two],
      async clear() {
        for (const { node, incarnation } of await one.members()) await one.retire(node, incarnation);
      },
      async close() {
        await one.close();
        await two.close();
        await server.stop();
      },
    };
  });
});
