import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startMongo } from '../../test/support/ferretdb.ts';
import { startRedis } from '../../test/support/redis.ts';
import { CostMeter } from '../costs.ts';
import { type Plan, type Section, table } from '../report.ts';
import { startRole } from '../role.ts';

const DAY_S = 86_400;
/** Time until all nodes have their partitions and share a log. */
const SETTLE_MS = 30_000;

/** The load of idle nodes on Redis, leases included, and on the machine. */
export async function idleFleet(plan: Plan): Promise<Section> {
  const [counts, forMs] = plan.repetitions > 1 ? [[1, 4, 16], 60_000] : [[1, 2], 3_000];
  const rows: string[][] = [];
  for (const count of counts) rows.push([`${count}`, ...(await measure(count, forMs))]);
  return {
    title: 'An idle fleet on Redis',
    text: [
      table(
        [
          'nodes',
          'Redis commands/s a node',
          'AOF, MB a day and node',
          'CPU of a node, % of a core',
          'resident MB a node',
        ],
        rows,
      ),
      `Nodes of the product, each a process, on one Redis (everysec) and a FerretDB, ${forMs / 1_000} s after ${SETTLE_MS / 1_000} s of rest. Commands as Redis ran them, those inside functions included.`,
    ].join('\n\n'),
  };
}

async function measure(count: number, forMs: number): Promise<string[]> {
  await using opened = new AsyncDisposableStack();
  const redis = await startRedis({ appendfsync: 'everysec' });
  opened.defer(() => redis.stop());
  const mongo = await startMongo();
  opened.defer(() => mongo.stop());
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const nodes = [];
  for (let n = 0; n < count; n += 1) {
    const ports = { 'http-port': '0', 'grpc-port': '0', 'internal-port': '0', 'internal-grpc-port': '0' };
    const flags = { ...ports, data: join(directory, `node-${n}`), redis: redis.url, mongodb: mongo.uri };
    const node = await startRole('waiting-node', { flags });
    opened.defer(() => node.stop());
    nodes.push(node);
  }
  await pause(SETTLE_MS);
  const meter = new CostMeter([redis], nodes, { pid: process.pid });
  opened.defer(async () => meter.close());
  const [before, since] = [await meter.used(), performance.now()];
  await pause(forMs);
  const [after, seconds] = [await meter.used(), (performance.now() - since) / 1_000];
  const each = (value: number): number => value / seconds / count;
  const resident = await Promise.all(nodes.map(async (node) => rssMb(await node.ask({}))));
  return [
    each(after.commands - before.commands).toFixed(1),
    ((each(after.aofBytes - before.aofBytes) * DAY_S) / 1e6).toFixed(1),
    (each(after.workerUs - before.workerUs) / 1e4).toFixed(1),
    (resident.reduce((sum, one) => sum + one, 0) / count).toFixed(0),
  ];
}

const rssMb = (answer: unknown): number =>
  typeof answer === 'object' && answer !== null && 'rss' in answer ? Number(answer.rss) / 1024 ** 2 : Number.NaN;
