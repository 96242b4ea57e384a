import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { serversMissing } from '../support/servers-missing.ts';
import { sample } from '../support/size.ts';
import type { RoundOutcome } from './rounds/fault-case.ts';
import { AwaySetup, type AwayStore, REFUSED_WITHIN_MS } from './rounds/stores-away.ts';

const skip = serversMissing();
/** Limit on a machine that runs other tests at the same time. */
const BUSY_MS = 5_000;
const runsOfAnArea = sample({ normal: 1, long: 2 });

function assertWell({ runs, hung, nodesEnded, lost, repeated, notes = [] }: RoundOutcome): void {
  assert.ok(runs > 0);
  assert.deepEqual(
    { hung, nodesEnded, lost, repeated },
    { hung: 0, nodesEnded: 0, lost: 0, repeated: 0 },
    notes.join('\n'),
  );
}

/**
 * Runs of all areas share an outage: agents, workflows with commands and children, judges, tools, stimuli, approvals.
 */
const withSetup = (store: AwayStore, tests: (setup: () => AwaySetup) => void): void => {
  describe(`runs of every area while ${store} is away`, { skip, timeout: 300_000 }, () => {
    let setup: AwaySetup;
    before(async () => {
      setup = await AwaySetup.open(store);
    });
    after(() => setup?.close());
    tests(() => setup);
  });
};

withSetup('documents', (setup) => {
  test('documents slow or away for 20 s: every run of every area ends as without the outage, and no command runs twice', async () => {
    assertWell(await setup().outage({ how: 'slow', forMs: 1_000, runsOfAnArea }));
    assertWell(await setup().outage({ how: 'refused', forMs: 20_000, runsOfAnArea }));
    const { refusals } = setup();
    assert.ok(refusals.length > 0);
    for (const { status, ms } of refusals) {
      assert.equal(status, 503, 'a start looks up its agent');
      assert.ok(ms < REFUSED_WITHIN_MS + BUSY_MS, `refused after ${ms} ms`);
    }
  });
});

withSetup('redis', (setup) => {
  test('Redis away for 2 s: runs of agents, children, judges, stimuli and approvals end as without the outage', async () => {
    assertWell(await setup().outage({ how: 'refused', forMs: 2_000, runsOfAnArea }));
  });
});
