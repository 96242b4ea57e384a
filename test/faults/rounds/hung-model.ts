import { LIVENESS_MS } from '../../support/liveness.ts';
import type { RecordedCall } from '../../support/model-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { CrowdedNode, freshKey, inLanes, keyIn } from './crowded-node.ts';
import type { FaultCase, FaultStores, RoundOutcome } from './fault-case.ts';
import { repeatsIn, timeLeftMs } from './quiet.ts';

/** More runs than a node has places. */
const HUNG = 64;
const GOOD = 5;
/**
 * A run with a good model takes a few hundred milliseconds; behind calls that hang it would wait for their time-outs.
 */
const GOOD_WITHIN_MS = 5_000;

export const hungModel: FaultCase = {
  name: 'hung-model',
  title:
    'calls to a model that hangs take no places from calls to other models, and their runs continue when it answers again',
  stores: ['sqlite', 'redis'],
  async open(store): Promise<FaultStores> {
    const node = await CrowdedNode.start(store, { llm_selection: { llm_overall_timeout_secs: 6, max_retries: 0 } });
    const [hung, good] = [await node.agent('hangs', 'one'), await node.agent('answers', 'two')];
    return { round: () => round(node, hung, good), close: () => node.close() };
  },
};

async function round(node: CrowdedNode, hung: string, good: string): Promise<RoundOutcome> {
  const isHung = { now: true };
  /** Runs that the model answers; one that hung was not answered. */
  const answered: RecordedCall[] = [];
  node.models.answer((call) => {
    if (call.body.model === 'one' && isHung.now) return { silent: true };
    answered.push(call);
    return { chunks: ['ok'] };
  });
  const asked = node.models.calls.length;
  const keys = new Map<string, string>();
  const start = async (agent: string): Promise<string | null> => {
    const key = freshKey();
    const id = await node.start(agent, key);
    if (id !== null) keys.set(id, key);
    return id;
  };
  const hanging = (await inLanes(HUNG, 16, () => start(hung))).filter((id) => id !== null);
  await waitUntil('the model is called', () => node.models.calls.length > asked);
  const slow = await goodRuns(node, () => start(good));
  const held = await waitUntil(
    'a run reports what it waits for',
    async () => {
      for (const id of hanging) {
        const { waiting_for } = await node.statusOf(id);
        if (JSON.stringify(waiting_for ?? '').includes('does not answer')) return id;
      }
      return null;
    },
    30_000,
  ).catch(() => null);
  isHung.now = false;
  const healedAt = performance.now();
  const ids = [...keys.keys()];
  const ends = await Promise.all(ids.map((id) => ended(node, id, timeLeftMs(healedAt)).catch(() => null)));
  const broken = await node.stillUnderWay(
    healedAt,
    ids.filter((_, n) => ends[n] !== null),
  );
  const recoveryMs = performance.now() - healedAt;
  const notCompleted = ends.filter((status) => status !== null && status !== 'completed');
  const answers = answered.filter(({ aborted }) => !aborted).map(keyIn);
  // A run that is completed was answered by its model.
  const unasked = ids.filter((id, n) => ends[n] === 'completed' && !answers.includes(keys.get(id) ?? ''));
  return {
    runs: ids.length,
    hung: ends.filter((status) => status === null).length + broken.length,
    nodesEnded: node.process.crashed ? 1 : 0,
    lost: HUNG + GOOD - ids.length + slow.length + notCompleted.length + unasked.length + (held === null ? 1 : 0),
    repeated: repeatsIn(answers),
    recoveryMs,
    notes: [...slow, ...(held === null ? ['no run reported that its model does not answer'] : []), ...broken],
  };
}

/** Runs one after the other with a model that answers, while the other model hangs; returns the slow ones. */
async function goodRuns(node: CrowdedNode, start: () => Promise<string | null>): Promise<string[]> {
  const slow: string[] = [];
  for (let n = 0; n < GOOD; n += 1) {
    const at = performance.now();
    const id = await start();
    if (id === null) continue;
    await ended(node, id, LIVENESS_MS).catch(() => null);
    const tookMs = performance.now() - at;
    if (tookMs > GOOD_WITHIN_MS) slow.push(`a run of another model took ${Math.round(tookMs)} ms`);
  }
  // One slow run may be due to other work on the machine; behind hung calls all runs are slow.
  return slow.length > GOOD / 2 ? slow : [];
}

async function ended(node: CrowdedNode, id: string, withinMs: number): Promise<string> {
  const status = async (): Promise<string> => String((await node.statusOf(id)).status);
  return waitUntil(
    `run ${id} to end`,
    async () => {
      const now = await status();
      return now === 'running' || now === 'pending' ? null : now;
    },
    withinMs,
  );
}
