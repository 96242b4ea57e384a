import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { faketimeMissing } from '../support/faketime.ts';
import { clockJump } from './rounds/clock-jump.ts';

describe('the wall clock of an embedded node', { skip: faketimeMissing(), timeout: 300_000 }, () => {
  test('is set by an hour or a year while commands, agents and approvals wait: no run fails', async () => {
    const seed = Date.now() % 1_000_000;
    const faults = await clockJump.open('sqlite', seed);
    try {
      const { notes, hung, nodesEnded, lost, repeated } = await faults.round(seed);
      const said = `seed ${seed}: ${notes?.join('; ')}`;
      assert.deepEqual({ hung, nodesEnded, lost, repeated }, { hung: 0, nodesEnded: 0, lost: 0, repeated: 0 }, said);
    } finally {
      await faults.close();
    }
  });
});
