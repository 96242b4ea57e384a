import { Realms } from '../../product/realms.ts';
import { LIVENESS_MS } from '../../support/liveness.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { CrowdedNode, freshKey, inLanes, keyIn } from './crowded-node.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { repeatsIn, timeLeftMs } from './quiet.ts';

const RUNS = 600;
const USERS = 16;
/** Duration of a model call, in eight pieces. */
const CALL_MS = 2_000;
const QUIET_WITHIN_MS = 5_000;
const TAKEN_WITHIN_MS = 60_000;
const RETRY_MS = 500;
/** Number of concurrent reads and cancels. */
const LANES = 16;

export const noisyTenant: FaultCase = {
  name: 'noisy-tenant',
  title: '600 runs of one tenant’s 16 users: another tenant’s run of 2 s ends within 5 s',
  stores: ['sqlite', 'redis'],
  open: (store) => openNoisyTenant(store, RUNS),
};

export async function openNoisyTenant(store: FaultCase['stores'][number], runs: number): Promise<FaultStores> {
  const realms = await Realms.open();
  const node = await CrowdedNode.start(store, realms.spec);
  node.models.answer(() => ({ chunks: Array.from({ length: 8 }, () => 'word '), delayMs: CALL_MS / 8 }));
  const users = await Promise.all(
    Array.from({ length: USERS }, (_user, n) => realms.headersWith('alpha', { sub: `user-${n}` })),
  );
  const admin = await realms.headers('alphaAdmin');
  const quiet = await realms.headers('betaAdmin');
  const noisyAgent = await node.agent('works', 'one', admin);
  // Both tenants use one model, so they share its calls.
  const quietAgent = await node.agent('works', 'one', quiet);
  const isOver = async (id: string, headers: Record<string, string>): Promise<boolean> => {
    const { status } = await node.statusOf(id, headers);
    return status !== 'running' && status !== 'pending';
  };
  /** A run of the quiet tenant, from its start to its end. */
  const quietRun = async (): Promise<{
    readonly id: string | null;
    readonly ended: boolean;
    readonly tookMs: number;
  }> => {
    const at = performance.now();
    const id = await node.start(quietAgent, freshKey(), quiet);
    const ended =
      id !== null &&
      (await waitUntil('the quiet tenant’s run', () => isOver(id, quiet), LIVENESS_MS).catch(() => false));
    return { id, ended, tookMs: Math.round(performance.now() - at) };
  };
  const outcomeOf = async (): Promise<RoundOutcome> => {
    const alone = await quietRun();
    const askedBefore = node.models.calls.length;
    const start = (n: number) => startPatiently(node, noisyAgent, users[n % USERS]);
    const noisy = (await inLanes(runs, 2 * USERS, start)).filter((id) => id !== null);
    const { id, ended, tookMs } = await quietRun();
    const overAt = performance.now();
    await eachOf(noisy, (one) => node.call('POST', `/v1/executions/${one}/cancel`, undefined, admin));
    const over = await eachOf(noisy, (one) =>
      waitUntil('a run to end', () => isOver(one, admin), timeLeftMs(overAt)).catch(() => false),
    );
    const own = [alone, { id, ended }].flatMap((one) => (one.ended && one.id !== null ? [one.id] : []));
    const broken = await node.stillUnderWay(overAt, [...own, ...noisy.filter((_, n) => over[n])], [admin, quiet]);
    return {
      runs: noisy.length + 1,
      hung: (ended ? 0 : 1) + over.filter((one) => !one).length + broken.length,
      nodesEnded: node.process.crashed ? 1 : 0,
      // On a machine with other work a run takes longer even without a crowd.
      lost: tookMs > Math.max(QUIET_WITHIN_MS, 2.5 * alone.tookMs) ? 1 : 0,
      repeated: repeatsIn(node.models.calls.slice(askedBefore).map(keyIn)),
      recoveryMs: performance.now() - overAt,
      notes: [
        `the other tenant’s run took ${tookMs} ms, ${alone.tookMs} ms alone, beside ${noisy.length} runs`,
        ...broken,
      ],
    };
  };
  return {
    round: outcomeOf,
    async close() {
      await node.close();
      await realms[Symbol.asyncDispose]();
    },
  };
}

/**
 * A start that is refused is sent again, since only all runs together are a crowd. Null: it was refused for too long.
 */
async function startPatiently(
  node: CrowdedNode,
  agent: string,
  headers: Record<string, string> | undefined,
): Promise<string | null> {
  const begun = performance.now();
  for (;;) {
    const id = await node.start(agent, freshKey(), headers);
    if (id !== null || performance.now() - begun > TAKEN_WITHIN_MS) return id;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Answers in the order of the ids. */
async function eachOf<T>(ids: readonly string[], call: (id: string) => Promise<T>): Promise<T[]> {
  const numbered = await inLanes(ids.length, LANES, async (n) => ({ n, answer: await call(ids[n - 1] ?? '') }));
  return numbered.toSorted((a, b) => a.n - b.n).map(({ answer }) => answer);
}
