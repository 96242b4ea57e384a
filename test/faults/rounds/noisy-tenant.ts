import { Realms } from '../../product/realms.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { CrowdedNode, inLanes } from './crowded-node.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

const RUNS = 600;
const USERS = 16;
/** What a model call takes, in eight pieces. */
const CALL_MS = 2_000;
const QUIET_WITHIN_MS = 5_000;
const ENDS_WITHIN_MS = 120_000;

export const noisyTenant: FaultCase = {
  name: 'noisy-tenant',
  title: '600 runs of one tenant’s 16 users: another tenant’s run of 2 s ends within 5 s',
  stores: ['sqlite', 'redis'],
  rounds: 20,
  open: (store) => openNoisyTenant(store, RUNS),
};

export async function openNoisyTenant(store: FaultCase['stores'][number], runs: number): Promise<FaultWorld> {
  const realms = await Realms.open();
  const node = await CrowdedNode.start(store, realms.spec);
  node.models.answer(() => ({ chunks: Array.from({ length: 8 }, () => 'word '), delayMs: CALL_MS / 8 }));
  const users = await Promise.all(
    Array.from({ length: USERS }, (_user, n) => realms.headersWith('alpha', { sub: `user-${n}` })),
  );
  const admin = await realms.headers('alphaAdmin');
  const quiet = await realms.headers('betaAdmin');
  const noisyAgent = await node.agent('works', 'one', admin);
  // Both tenants ask one model: its calls are shared as well.
  const quietAgent = await node.agent('works', 'one', quiet);
  const isOver = async (id: string, headers: Record<string, string>): Promise<boolean> => {
    const { status } = await node.statusOf(id, headers);
    return status !== 'running' && status !== 'pending';
  };
  return {
    async round(): Promise<RoundOutcome> {
      const started = await inLanes(runs, 2 * USERS, (n) => node.start(noisyAgent, users[n % USERS]));
      const noisy = started.filter((id) => id !== null);
      const at = performance.now();
      const id = await node.start(quietAgent, quiet);
      const ended =
        id !== null &&
        (await waitUntil('the quiet tenant’s run', () => isOver(id, quiet), ENDS_WITHIN_MS).catch(() => false));
      const tookMs = Math.round(performance.now() - at);
      await inLanes(noisy.length, 16, (n) =>
        node.call('POST', `/v1/executions/${noisy[n - 1]}/cancel`, undefined, admin),
      );
      const cancelledAt = performance.now();
      const over = await inLanes(noisy.length, 16, (n) =>
        waitUntil('a run to end', () => isOver(noisy[n - 1] ?? '', admin), ENDS_WITHIN_MS).catch(() => false),
      );
      return {
        runs: noisy.length + 1,
        hung: over.filter((one) => !one).length + (ended ? 0 : 1),
        nodesEnded: node.process.crashed ? 1 : 0,
        lost: runs - noisy.length + (tookMs > QUIET_WITHIN_MS ? 1 : 0),
        repeated: 0,
        recoveryMs: performance.now() - cancelledAt,
        notes: [`the other tenant’s run took ${tookMs} ms`],
      };
    },
    async close() {
      await node.close();
      await realms[Symbol.asyncDispose]();
    },
  };
}
