import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seedOf } from '../kill/random.ts';
import { removedRuns } from './rounds/removed-runs.ts';

test('runs deleted right after their end while the node is killed leave nothing, and the others stay', {
  timeout: 180_000,
}, async () => {
  const seed = seedOf(process.env);
  const world = await removedRuns.open('sqlite', seed);
  try {
    const { hung, lost, nodesEnded } = await world.round(seed);
    assert.deepEqual({ hung, lost, nodesEnded }, { hung: 0, lost: 0, nodesEnded: 0 }, `seed ${seed}`);
  } finally {
    await world.close();
  }
});
