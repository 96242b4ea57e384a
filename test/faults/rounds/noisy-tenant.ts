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
const TAKEN_WITHIN_MS = 60_000;
const RETRY_MS = 500;
/** To start and to end all runs takes longer than the quiet one: that is every so many rounds, the others top up. */
const CANCELLED_EVERY = 5;
/** Reads and cancels at a time. */
const LANES = 16;

export const noisyTenant: FaultCase = {
  name: 'noisy-tenant',
  title: '600 runs of one tenant’s 16 users: another tenant’s run of 2 s ends within 5 s',
  stores: ['sqlite', 'redis'],
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
  const isEnded = async (id: string): Promise<boolean> => isOver(id, admin);
  let noisy: string[] = [];
  let rounds = 0;
  return {
    async round(): Promise<RoundOutcome> {
      rounds += 1;
      const missing = runs - noisy.length;
      const started = await inLanes(missing, 2 * USERS, (n) => startPatiently(node, noisyAgent, users[n % USERS]));
      const begun = started.filter((id) => id !== null);
      noisy.push(...begun);
      const at = performance.now();
      const id = await node.start(quietAgent, quiet);
      const ended =
        id !== null &&
        (await waitUntil('the quiet tenant’s run', () => isOver(id, quiet), ENDS_WITHIN_MS).catch(() => false));
      const tookMs = Math.round(performance.now() - at);
      const outcome = {
        runs: begun.length + 1,
        nodesEnded: node.process.crashed ? 1 : 0,
        lost: tookMs > QUIET_WITHIN_MS ? 1 : 0,
        repeated: 0,
        notes: [`the other tenant’s run took ${tookMs} ms beside ${noisy.length} runs`],
      };
      const hung = ended ? 0 : 1;
      if (rounds % CANCELLED_EVERY !== 1) {
        const over = await eachOf(noisy, isEnded);
        noisy = noisy.filter((_, n) => over[n] === false);
        return { ...outcome, hung, recoveryMs: null };
      }
      const cancelledAt = performance.now();
      await eachOf(noisy, (one) => node.call('POST', `/v1/executions/${one}/cancel`, undefined, admin));
      const over = await eachOf(noisy, (one) =>
        waitUntil('a run to end', () => isEnded(one), ENDS_WITHIN_MS).catch(() => false),
      );
      noisy = [];
      const left = over.filter((one) => !one).length;
      return { ...outcome, hung: hung + left, recoveryMs: performance.now() - cancelledAt };
    },
    async close() {
      await node.close();
      await realms[Symbol.asyncDispose]();
    },
  };
}

/** A start that is refused is sent again: only with all runs is there a crowd. Null: it was refused for too long. */
async function startPatiently(
  node: CrowdedNode,
  agent: string,
  headers: Record<string, string> | undefined,
): Promise<string | null> {
  const begun = performance.now();
  for (;;) {
    const id = await node.start(agent, headers);
    if (id !== null || performance.now() - begun > TAKEN_WITHIN_MS) return id;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Answers in the order of the ids. */
async function eachOf<T>(ids: readonly string[], call: (id: string) => Promise<T>): Promise<T[]> {
  const numbered = await inLanes(ids.length, LANES, async (n) => ({ n, answer: await call(ids[n - 1] ?? '') }));
  return numbered.toSorted((a, b) => a.n - b.n).map(({ answer }) => answer);
}
