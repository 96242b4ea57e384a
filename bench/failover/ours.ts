import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import { startCluster } from '../../test/support/cluster/cluster.ts';
import { END_WITHIN_MS, type FailoverPeer, shareOf } from './peer.ts';

const State = z.object({ status: z.string() });

/** The product's nodes, each in a process of its own, and an adapter that calls; a step is an effect. */
export async function startOurs(appendfsync: 'always' | 'everysec', workers: number): Promise<FailoverPeer> {
  const workload = new URL('../../test/chaos/workload.ts', import.meta.url);
  // As many at a time as the peers' workers take.
  const config = { kernel: { effect_concurrency: shareOf(workers) } };
  const cluster = await startCluster({ nodes: workers, appendfsync, workload, config });
  const run: FailoverPeer['run'] = async ({ runs, steps, stepMs }, trail) => {
    const addresses = Array.from({ length: runs }, () => addressOf('steps', 'bench', randomUUID()));
    const startedAt = performance.now();
    await Promise.all(
      addresses.map(async (address) => {
        await cluster.client.ask(address, 'Run', { steps, stepMs, trail, mode: 'repeatable' });
        await cluster.client.end(address, { withinMs: END_WITHIN_MS, tryMs: 30_000 });
      }),
    );
    const tookMs = performance.now() - startedAt;
    for (const address of addresses) {
      const state = await cluster.client.state(address, State);
      if (state?.status !== 'ended') throw new Error(`${address} ended as ${state?.status ?? 'nothing'}`);
    }
    return tookMs;
  };
  return {
    run: (work, trail) => cluster.explained(run(work, trail)),
    async replace(worker) {
      await cluster.kill(worker);
      await cluster.start(worker);
    },
    async settle() {
      await cluster.settled('before the runs');
      if (cluster.crashed.length > 0) throw new Error(`ended by themselves: ${cluster.crashed.join(', ')}`);
    },
    stop: () => cluster.destroy(),
  };
}
