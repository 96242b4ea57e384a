import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seedOf } from '../kill/random.ts';
import { removedRuns } from './rounds/removed-runs.ts';

test('runs deleted right after their end while the node is killed leave no records, and other runs are unchanged', {
  timeout: 300_000,
}, async () => {
  const seed = seedOf(process.env);
  const faults = await removedRuns.open('sqlite', seed);
  try {
    const { hung, lost, nodesEnded, repeated, notes = [] } = await faults.round(seed);
    const said = `seed ${seed}: ${notes.join('; ')}`;
    assert.deepEqual({ hung, lost, nodesEnded, repeated }, { hung: 0, lost: 0, nodesEnded: 0, repeated: 0 }, said);
  } finally {
    await faults.close();
  }
});
