import { startRedis } from '../../test/support/redis.ts';
import { type Cost, CostMeter, costOf } from '../costs.ts';
import { type LoadPlan, type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type RoleProcess, startRole } from '../role.ts';

type Client = RoleProcess<LoadPlan | { check: true }, Measured & { acknowledged: number; sum: number }>;
type Run = Measured & { readonly cost: Cost };

interface Peer {
  readonly name: string;
  readonly worker: string;
  readonly client: string;
  readonly options: Readonly<Record<string, unknown>>;
}

const ours = (name: string, options: { readonly partitions: number; readonly ledger: boolean }): Peer => ({
  ...{ name, worker: 'ours-worker', client: 'ours-client', options },
});

const PEERS: readonly Peer[] = [
  { name: 'raw Redis Streams (the limit)', worker: 'raw-worker', client: 'raw-client', options: {} },
  ...partitionCounts().map((partitions) => ours(`svc, ${partitions} partitions`, { partitions, ledger: true })),
  ours('svc, ledger off', { partitions: partitionCounts()[0] ?? 1, ledger: false }),
  { name: 'BullMQ, add and wait', worker: 'bullmq-worker', client: 'bullmq-client', options: {} },
];

/** Before the first figure of each peer. */
export const WARM_IN_FLIGHT = 256;
export const WARM_UP_ROUNDS = 2;

/** `SVC_BENCH_PARTITIONS=16,256`: which counts are compared. The first is the default of a node on Redis. */
function partitionCounts(): readonly number[] {
  return (process.env.SVC_BENCH_PARTITIONS ?? '256').split(',').map(Number);
}

/**
 * Request to reply on Redis: client, worker and server are three processes on this machine. Each peer has a fresh
 * server; peers take turns so that a noisy minute hits all of them.
 */
export async function asksOnRedis(plan: Plan, appendfsync: 'everysec' | 'always'): Promise<Section> {
  const runs = new Map<string, Run[]>();
  const checks: string[] = [];
  for (let round = 0; round < plan.repetitions; round += 1) {
    for (const peer of PEERS) {
      for (const [inFlight, run] of await measure(peer, plan, appendfsync, checks)) {
        const key = `${peer.name}|${inFlight}`;
        runs.set(key, [...(runs.get(key) ?? []), run]);
      }
    }
  }
  const of = (peer: Peer | undefined, inFlight: number) => medianOf(runs.get(`${peer?.name}|${inFlight}`) ?? []);
  const rows = PEERS.flatMap((peer) =>
    plan.inFlight.map((inFlight) => {
      const measured = of(peer, inFlight);
      const ratio = measured.perSecond / of(PEERS[0], inFlight).perSecond;
      const { redisUs, workerUs, clientUs, commands, bytesIn, bytesOut, aofBytes } = measured.cost;
      return [
        ...[peer.name, `${inFlight}`, whole(measured.perSecond), `${whole(measured.low)}–${whole(measured.high)}`],
        ...[measured.p50Ms.toFixed(2), measured.p99Ms.toFixed(2), ratio.toFixed(2)],
        ...[[redisUs, workerUs, clientUs].map(whole).join(' + '), commands.toFixed(1)],
        [bytesIn, bytesOut, aofBytes].map(whole).join(' / '),
      ];
    }),
  );
  const head = ['peer', 'in flight', 'asks/s', 'low–high', 'p50 ms', 'p99 ms', 'of the limit'];
  const costs = ['CPU µs: Redis + worker + client', 'Redis commands', 'bytes in / out / AOF'];
  return {
    title: `Asks on Redis, appendfsync ${appendfsync}`,
    text: [
      table([...head, ...costs], rows),
      `CPU, commands and bytes are for each ask, warm-up included. Counted afterwards in the states, equal to the answers given: ${checks.join(', ')}.`,
    ].join('\n\n'),
  };
}

async function measure(
  peer: Peer,
  plan: Plan,
  appendfsync: 'everysec' | 'always',
  checks: string[],
): Promise<[number, Run][]> {
  const redis = await startRedis({ appendfsync });
  const options = { ...peer.options, url: redis.url };
  const worker = await startRole(peer.worker, options);
  const client: Client = await startRole(peer.client, options);
  const meter = new CostMeter([redis], [worker], client);
  const runs: [number, Run][] = [];
  // A long-lived process is compared, so code that is called often is compiled before anything is measured.
  await client.ask({ inFlight: WARM_IN_FLIGHT, warmUpMs: 0, runMs: WARM_UP_ROUNDS * plan.warmUpMs });
  for (const inFlight of plan.inFlight) {
    const before = await meter.used();
    const measured = await client.ask({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs });
    runs.push([inFlight, { ...measured, cost: costOf(before, await meter.used(), measured.calls) }]);
  }
  if (peer.worker === 'ours-worker') {
    const { acknowledged, sum } = await client.ask({ check: true });
    if (acknowledged !== sum) throw new Error(`${acknowledged} asks were answered, the states hold ${sum}`);
    checks.push(`${whole(sum)}`);
  }
  meter.close();
  await client.stop();
  await worker.stop();
  await redis.stop();
  return runs;
}
