/**
 * Random workflows against the reference interpreter, at full size: with containers, on an embedded node and on a node
 * with Redis and a MongoDB-wire server.
 *
 *   npm run workflows:random                      100 workflows on both
 *   npm run workflows:random -- --seed 7          one of them
 *   npm run workflows:random -- --count 20 --from 500 --on redis
 */
import { parseArgs } from 'node:util';
import { mongoMissing, startMongo } from '../../support/ferretdb.ts';
import { BUSYBOX, TestPodman } from '../../support/podman.ts';
import { startRedis } from '../../support/redis.ts';
import { randomCase } from './grammar.ts';
import { startRandomNode } from './node.ts';
import { checkCase, checkCases } from './run-case.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    on: { type: 'string', default: 'both' },
  },
});
if (!['embedded', 'redis', 'both'].includes(values.on)) throw new Error('--on: expected embedded, redis or both');

const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.count) : 1;
await using opened = new AsyncDisposableStack();
const podman = opened.use(await TestPodman.start());
const cases = Array.from({ length: count }, (_case, at) => randomCase(first + at, { image: BUSYBOX }));

async function run(store: 'embedded' | 'redis'): Promise<void> {
  const started = Date.now();
  await using node = await startRandomNode({
    engineSocket: podman.socketPath,
    stores: store === 'redis' ? await outsideStores() : {},
  });
  if (cases.length === 1 && cases[0] !== undefined) await checkCase(cases[0], node.send);
  else await checkCases(cases, node.send);
  console.log(`${store}: ${cases.length} of ${cases.length} equal in ${((Date.now() - started) / 1_000).toFixed(1)} s`);
}

async function outsideStores(): Promise<{ readonly redis: string; readonly mongodb: string }> {
  const missing = mongoMissing();
  if (missing !== false) throw new Error(missing);
  const redis = await startRedis();
  opened.defer(() => redis.stop());
  const mongo = await startMongo();
  opened.defer(() => mongo.stop());
  return { redis: redis.url, mongodb: mongo.uri };
}

if (values.on !== 'redis') await run('embedded');
if (values.on !== 'embedded') await run('redis');
