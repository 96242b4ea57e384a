import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EffectRow } from '../../runtime/actor-store.ts';
import type { EffectJob } from '../../runtime/effect-queue.ts';
import { sweepEffects } from '../../runtime/effects/effect-sweep.ts';

const NOW = 1_000_000;
const row = (id: string, status: EffectRow['status'], until: number, runner = ''): EffectRow => ({
  ...{ id, status, until, runner, queue: 'default', address: 'probe/acme/x', mode: 'repeatable', attempt: 1 },
});
const ROWS = [
  row('due', 'open', NOW - 5),
  row('soon', 'open', NOW + 500),
  row('far', 'open', NOW + 60_000),
  row('silent', 'started', NOW - 1, 'a/life-1'),
  row('kept', 'started', NOW + 3_000, 'b/life-2'),
];

async function swept(dead: readonly string[]): Promise<Record<string, [delayMs: number, token: string | undefined]>> {
  const queued: Record<string, [number, string | undefined]> = {};
  const enqueue = async (job: EffectJob, delayMs = 0, token?: string) => {
    queued[job.id] = [delayMs, token];
  };
  const store = { openEffects: async () => ROWS, now: async () => NOW };
  await sweepEffects(store, { enqueue }, 'default:1', { isLive: (runner) => !dead.includes(runner) });
  return queued;
}

test('a sweep enqueues what is due, what is due before the next sweep, and what its runner let go', async () => {
  assert.deepEqual(await swept([]), { due: [0, undefined], soon: [500, undefined], silent: [0, 'life-1'] });
});

test('what a dead runner had started is enqueued at once, beside the job it took', async () => {
  const queued = await swept(['b/life-2']);
  assert.deepEqual(queued.kept, [0, 'life-2']);
});
