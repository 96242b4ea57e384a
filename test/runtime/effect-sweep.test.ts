import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EffectRow } from '../../runtime/actor-store.ts';
import type { EffectJob } from '../../runtime/effect-queue.ts';
import { sweepEffects } from '../../runtime/effects/effect-sweep.ts';

const NOW = 1_000_000;
const row = (id: string, status: EffectRow['status'], until: number): EffectRow => ({
  ...{ id, status, until, queue: 'default', address: 'probe/acme/x', mode: 'repeatable', attempt: 1 },
});
const ROWS = [
  row('due', 'open', NOW - 5),
  row('soon', 'open', NOW + 500),
  row('far', 'open', NOW + 60_000),
  row('dead', 'started', NOW - 1),
  row('alive', 'started', NOW + 3_000),
];

async function swept(acquired: boolean): Promise<Record<string, number>> {
  const queued: Record<string, number> = {};
  const enqueue = async (job: EffectJob, delayMs = 0) => {
    queued[job.id] = delayMs;
  };
  const store = { openEffects: async () => ROWS, now: async () => NOW };
  await sweepEffects(store, { enqueue }, 'default:1', { acquired });
  return queued;
}

test('a sweep enqueues what is due, what is due before the next sweep, and what lost its runner', async () => {
  assert.deepEqual(await swept(false), { due: 0, soon: 500, dead: 0 });
});

test('after an acquisition the claims of the last holder are tried too', async () => {
  assert.deepEqual(await swept(true), { due: 0, soon: 500, dead: 0, alive: 0 });
});
