import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sample } from '../support/size.ts';
import type { FaultStores, RoundOutcome } from './rounds/fault-case.ts';
import { hungModel } from './rounds/hung-model.ts';
import { openNoisyTenant } from './rounds/noisy-tenant.ts';
import { openOverload } from './rounds/overload.ts';

async function one(faults: FaultStores): Promise<RoundOutcome> {
  try {
    return await faults.round(1);
  } finally {
    await faults.close();
  }
}

const quiet = ({ hung, nodesEnded, lost, repeated }: RoundOutcome) => ({ hung, nodesEnded, lost, repeated });
const NOTHING = { hung: 0, nodesEnded: 0, lost: 0, repeated: 0 };

describe('a node with more callers than free places', { timeout: 300_000 }, () => {
  test('calls to a model that hangs take no places from calls to other models, and their runs continue when it answers again', async () => {
    const outcome = await one(await hungModel.open('sqlite', 1));
    assert.deepEqual(quiet(outcome), NOTHING, outcome.notes?.join('; '));
  });

  test('many runs of one tenant’s users do not delay another tenant’s run', async () => {
    const outcome = await one(await openNoisyTenant('sqlite', sample({ normal: 40, long: 200 })));
    assert.deepEqual(quiet(outcome), NOTHING, outcome.notes?.join('; '));
  });

  test('an overloaded node refuses new work and names a time to retry, resets no connection, and its runs continue', async () => {
    const outcome = await one(
      await openOverload('sqlite', sample({ normal: 100, long: 300 }), sample({ normal: 800, long: 3_000 }), {
        starts_in_flight: 4,
        start_wait_ms: 10,
      }),
    );
    assert.deepEqual(quiet(outcome), NOTHING, outcome.notes?.join('; '));
    assert.match(outcome.notes?.join() ?? '', /[1-9]\d* refused/);
  });
});
