import { startRedis } from '../../test/support/redis.ts';
import { startRedisCluster } from '../../test/support/redis-cluster.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { type Cost, CostMeter, costOf } from '../costs.ts';
import { type LoadPlan, type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type RoleProcess, startRole } from '../role.ts';
import { WARM_IN_FLIGHT, WARM_UP_ROUNDS } from './asks-redis.ts';

type Client = RoleProcess<LoadPlan, Measured>;
type Worker = RoleProcess<object, { readonly rss: number; readonly held: number }>;
type Run = Measured & { readonly cost: Cost; readonly residentMb: number };

const RAW = 'raw streams, one Redis';
const PARTITIONS = 256;
const COUNTS = [1, 2, 4];
/** Shares of a pool differ by a tenth of their mean each way. */
const LEAST_SHARE = 0.75;
const SPREAD_WITHIN_MS = 30_000;

const STORES = [
  {
    name: 'one Redis',
    async start() {
      const redis = await startRedis({ appendfsync: 'everysec' });
      return { url: redis.url, servers: [redis], stop: () => redis.stop() };
    },
  },
  {
    name: 'three masters',
    async start() {
      const cluster = await startRedisCluster();
      return { url: cluster.url, servers: cluster.nodes, stop: () => cluster.stop() };
    },
  },
];

/**
 * The same asks, spread over more node processes of one machine. Where processes share two cores rates say little: what
 * counts is CPU, Redis commands and memory.
 */
export async function processes(plan: Plan): Promise<Section> {
  const runs = new Map<string, Run[]>();
  for (let round = 0; round < plan.repetitions; round += 1) {
    for (const [inFlight, run] of await measureRaw(plan)) {
      const key = `${RAW}|1|${inFlight}`;
      runs.set(key, [...(runs.get(key) ?? []), run]);
    }
    for (const store of STORES) {
      for (const count of COUNTS) {
        for (const [inFlight, run] of await measure(store, count, plan)) {
          const key = `${store.name}|${count}|${inFlight}`;
          runs.set(key, [...(runs.get(key) ?? []), run]);
        }
      }
    }
  }
  const rows = [...runs].map(([key, measured]) => {
    const { cost, ...median } = medianOf(measured);
    const raw = medianOf(runs.get(`${RAW}|1|${key.split('|')[2]}`) ?? []);
    return [
      ...key.split('|'),
      ...[whole(median.perSecond), (median.perSecond / raw.perSecond).toFixed(2)],
      ...[`${whole(median.low)}–${whole(median.high)}`, median.p99Ms.toFixed(2)],
      ...[[cost.redisUs, cost.workerUs, cost.clientUs].map(whole).join(' + '), cost.commands.toFixed(1)],
      Number.isNaN(median.residentMb) ? '' : median.residentMb.toFixed(0),
    ];
  });
  const head = ['store', 'nodes', 'in flight', 'asks/s', 'of raw', 'low–high', 'p99 ms'];
  const costs = ['CPU µs: Redis + nodes + client', 'Redis commands', 'resident MB of all nodes'];
  return { title: 'Several nodes on one machine', text: table([...head, ...costs], rows) };
}

/** Requests and replies over raw streams on one Redis, with one worker. */
async function measureRaw(plan: Plan): Promise<[number, Run][]> {
  const redis = await startRedis({ appendfsync: 'everysec' });
  const worker = await startRole('raw-worker', { url: redis.url });
  const client: Client = await startRole('raw-client', { url: redis.url });
  const runs = await measureAt(plan, client, new CostMeter([redis], [worker], client), async () => Number.NaN);
  await worker.stop();
  await redis.stop();
  return runs;
}

async function measure(store: (typeof STORES)[number], count: number, plan: Plan): Promise<[number, Run][]> {
  const { url, servers, stop } = await store.start();
  const workers: Worker[] = [];
  for (let n = 0; n < count; n += 1) {
    workers.push(await startRole('ours-worker', { url, ledger: true, partitions: PARTITIONS, node: `bench-${n}` }));
  }
  const held = async (): Promise<readonly number[]> =>
    (await Promise.all(workers.map((worker) => worker.ask({})))).map((one) => one.held);
  const isSpread = async (): Promise<boolean> => {
    const each = await held();
    const all = each.reduce((sum, one) => sum + one, 0);
    return all >= PARTITIONS && Math.min(...each) >= LEAST_SHARE * Math.max(...each);
  };
  await waitUntil('the partitions are spread over all nodes', isSpread, SPREAD_WITHIN_MS);
  const client: Client = await startRole('ours-client', { url, partitions: PARTITIONS });
  const residentMb = async (): Promise<number> => {
    const memory = await Promise.all(workers.map((worker) => worker.ask({})));
    return memory.reduce((sum, { rss }) => sum + rss, 0) / 1024 ** 2;
  };
  const runs = await measureAt(plan, client, new CostMeter(servers, workers, client), residentMb);
  await Promise.all(workers.map((worker) => worker.stop()));
  await stop();
  return runs;
}

async function measureAt(
  plan: Plan,
  client: Client,
  meter: CostMeter,
  residentMb: () => Promise<number>,
): Promise<[number, Run][]> {
  const runs: [number, Run][] = [];
  // A long-lived process is compared, so code that is called often is compiled before anything is measured.
  await client.ask({ inFlight: WARM_IN_FLIGHT, warmUpMs: 0, runMs: WARM_UP_ROUNDS * plan.warmUpMs });
  for (const inFlight of plan.inFlight.filter((many) => many > 1)) {
    const before = await meter.used();
    const measured = await client.ask({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs });
    const cost = costOf(before, await meter.used(), measured.calls);
    runs.push([inFlight, { ...measured, cost, residentMb: await residentMb() }]);
  }
  meter.close();
  await client.stop();
  return runs;
}
