import { waitUntil } from '../../support/wait-until.ts';
import { CrowdedNode, inLanes } from './crowded-node.ts';
import type { FaultCase, FaultWorld, RoundOutcome } from './fault-case.ts';

/** More than a node has places. */
const HUNG = 64;
const GOOD = 5;
/** A good run takes a few hundred milliseconds; before, it waited behind the hung ones until their time-outs. */
const GOOD_WITHIN_MS = 5_000;
const ENDS_WITHIN_MS = 60_000;

export const hungModel: FaultCase = {
  name: 'hung-model',
  title: 'a model that hangs takes no places from others, and its runs go on when it answers again',
  stores: ['sqlite', 'redis'],
  async open(store): Promise<FaultWorld> {
    const node = await CrowdedNode.start(store, { llm_selection: { llm_overall_timeout_secs: 6, max_retries: 0 } });
    const [hung, good] = [await node.agent('hangs', 'one'), await node.agent('answers', 'two')];
    return { round: () => round(node, hung, good), close: () => node.close() };
  },
};

async function round(node: CrowdedNode, hung: string, good: string): Promise<RoundOutcome> {
  const isHung = { now: true };
  node.models.answer(({ body }) => (body.model === 'one' && isHung.now ? { silent: true } : { chunks: ['ok'] }));
  const hanging = (await inLanes(HUNG, 16, () => node.start(hung))).filter((id) => id !== null);
  await waitUntil('the model is asked', () => node.models.calls.length > 0);
  const slow: string[] = [];
  const done: string[] = [];
  for (let n = 0; n < GOOD; n += 1) {
    const at = performance.now();
    const id = await node.start(good);
    if (id === null) continue;
    done.push(id);
    await ended(node, id).catch(() => null);
    const tookMs = performance.now() - at;
    if (tookMs > GOOD_WITHIN_MS) slow.push(`a run of another model took ${Math.round(tookMs)} ms`);
  }
  const held = await waitUntil(
    'a run says what it waits for',
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
  const ends = await Promise.all([...hanging, ...done].map((id) => ended(node, id).catch(() => null)));
  const recoveryMs = performance.now() - healedAt;
  const notCompleted = ends.filter((status) => status !== null && status !== 'completed');
  return {
    runs: hanging.length + done.length,
    hung: ends.filter((status) => status === null).length,
    nodesEnded: node.process.crashed ? 1 : 0,
    lost: HUNG + GOOD - hanging.length - done.length + slow.length + notCompleted.length + (held === null ? 1 : 0),
    repeated: 0,
    recoveryMs,
    notes: [...slow, ...(held === null ? ['no run said that its model does not answer'] : [])],
  };
}

async function ended(node: CrowdedNode, id: string): Promise<string> {
  const status = async (): Promise<string> => String((await node.statusOf(id)).status);
  return waitUntil(
    `run ${id} to end`,
    async () => {
      const now = await status();
      return now === 'running' || now === 'pending' ? null : now;
    },
    ENDS_WITHIN_MS,
  );
}
