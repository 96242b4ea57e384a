import { startRedis } from '../../test/support/redis.ts';
import { type LoadPlan, type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type RoleProcess, startRole } from '../role.ts';

type Client = RoleProcess<LoadPlan | { check: true }, Measured & { acknowledged: number; sum: number }>;

interface Peer {
  readonly name: string;
  readonly worker: string;
  readonly client: string;
  readonly options: Readonly<Record<string, unknown>>;
}

const PEERS: readonly Peer[] = [
  { name: 'raw Redis Streams (the limit)', worker: 'raw-worker', client: 'raw-client', options: {} },
  { name: 'svc', worker: 'ours-worker', client: 'ours-client', options: { ledger: true } },
  { name: 'svc, ledger off', worker: 'ours-worker', client: 'ours-client', options: { ledger: false } },
  { name: 'BullMQ, add and wait', worker: 'bullmq-worker', client: 'bullmq-client', options: {} },
];

/**
 * Request to reply on Redis: client, worker and server are three processes on this machine. Each peer has a fresh
 * server; peers take turns so that a noisy minute hits all of them.
 */
export async function asksOnRedis(plan: Plan, appendfsync: 'everysec' | 'always'): Promise<Section> {
  const runs = new Map<string, Measured[]>();
  const checks: string[] = [];
  for (let round = 0; round < plan.repetitions; round += 1) {
    for (const peer of PEERS) {
      const redis = await startRedis({ appendfsync });
      const options = { ...peer.options, url: redis.url };
      const worker = await startRole(peer.worker, options);
      const client: Client = await startRole(peer.client, options);
      for (const inFlight of plan.inFlight) {
        const key = `${peer.name}|${inFlight}`;
        const measured = await client.ask({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs });
        runs.set(key, [...(runs.get(key) ?? []), measured]);
      }
      if (peer.worker === 'ours-worker') {
        const { acknowledged, sum } = await client.ask({ check: true });
        if (acknowledged !== sum) throw new Error(`${acknowledged} asks were answered, the states hold ${sum}`);
        checks.push(`${whole(sum)}`);
      }
      await client.stop();
      await worker.stop();
      await redis.stop();
    }
  }
  const limit = (inFlight: number): Measured => medianOf(runs.get(`${PEERS[0]?.name}|${inFlight}`) ?? []);
  const rows = PEERS.flatMap((peer) =>
    plan.inFlight.map((inFlight) => {
      const measured = medianOf(runs.get(`${peer.name}|${inFlight}`) ?? []);
      const ratio = measured.perSecond / limit(inFlight).perSecond;
      return [
        peer.name,
        `${inFlight}`,
        whole(measured.perSecond),
        `${whole(measured.low)}–${whole(measured.high)}`,
        measured.p50Ms.toFixed(2),
        measured.p99Ms.toFixed(2),
        ratio.toFixed(2),
      ];
    }),
  );
  return {
    title: `Asks on Redis, appendfsync ${appendfsync}`,
    text: [
      table(['peer', 'in flight', 'asks/s', 'low–high', 'p50 ms', 'p99 ms', 'of the limit'], rows),
      `Counted afterwards in the states, equal to the answers given: ${checks.join(', ')}.`,
    ].join('\n\n'),
  };
}
