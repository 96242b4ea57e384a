import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serversMissing } from '../support/servers-missing.ts';
import { redisAway } from './rounds/redis-away.ts';

const skip = serversMissing();

test('Redis away for longer than a lease: commands of live nodes run on and report, none is ended, none runs twice', {
  skip,
  timeout: 300_000,
}, async () => {
  const faults = await redisAway.open('redis', 1);
  try {
    const { recoveryMs, notes, ...counts } = await faults.round(0);
    console.log(`${notes?.join(' ')}, quiet after ${Math.round(recoveryMs ?? 0)} ms`);
    assert.deepEqual(counts, { runs: 12, hung: 0, nodesEnded: 0, lost: 0, repeated: 0 });
  } finally {
    await faults.close();
  }
});
