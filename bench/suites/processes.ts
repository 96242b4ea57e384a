import { startRedis } from '../../test/support/redis.ts';
import { startRedisCluster } from '../../test/support/redis-cluster.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { type Cost, CostMeter, costOf } from '../costs.ts';
import { type LoadPlan, type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type RoleProcess, startRole } from '../role.ts';

type Client = RoleProcess<LoadPlan, Measured>;
type Worker = RoleProcess<object, { readonly rss: number; readonly held: number }>;
type Run = Measured & { readonly cost: Cost; readonly residentMb: number };

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
    return [
      ...key.split('|'),
      ...[whole(median.perSecond), `${whole(median.low)}–${whole(median.high)}`, median.p99Ms.toFixed(2)],
      ...[[cost.redisUs, cost.workerUs, cost.clientUs].map(whole).join(' + '), cost.commands.toFixed(1)],
      median.residentMb.toFixed(0),
    ];
  });
  const head = ['store', 'nodes', 'in flight', 'asks/s', 'low–high', 'p99 ms'];
  const costs = ['CPU µs: Redis + nodes + client', 'Redis commands', 'resident MB of all nodes'];
  return { title: 'Several nodes on one machine', text: table([...head, ...costs], rows) };
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
  const meter = new CostMeter(servers, workers, client);
  const runs: [number, Run][] = [];
  for (const inFlight of plan.inFlight.filter((many) => many > 1)) {
    const before = await meter.used();
    const measured = await client.ask({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs });
    const cost = costOf(before, await meter.used(), measured.calls);
    const memory = await Promise.all(workers.map((worker) => worker.ask({})));
    runs.push([inFlight, { ...measured, cost, residentMb: memory.reduce((sum, { rss }) => sum + rss, 0) / 1024 ** 2 }]);
  }
  meter.close();
  await client.stop();
  await Promise.all(workers.map((worker) => worker.stop()));
  await stop();
  return runs;
}
