import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mongoMissing } from '../support/ferretdb.ts';
import { redisMissing } from '../support/redis.ts';
import { sample } from '../support/size.ts';
import type { RoundOutcome } from './rounds/fault-case.ts';
import { type AwayStore, AwayWorld, REFUSED_WITHIN_MS } from './rounds/stores-away.ts';

const skip = redisMissing() ?? mongoMissing();
/** For a machine that runs other tests beside this one. */
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

/** All areas at once share an outage: agents, workflows with commands and children, judges, tools, stimuli, approvals. */
const withWorld = (store: AwayStore, tests: (world: () => AwayWorld) => void): void => {
  describe(`runs of every area while ${store} is away`, { skip, timeout: 300_000 }, () => {
    let world: AwayWorld;
    before(async () => {
      world = await AwayWorld.open(store);
    });
    after(() => world?.close());
    tests(() => world);
  });
};

withWorld('documents', (world) => {
  test('documents slow or away for 20 s: every run of every area ends as without it, and no command runs twice', async () => {
    assertWell(await world().outage({ how: 'slow', forMs: 1_000, runsOfAnArea }));
    assertWell(await world().outage({ how: 'refused', forMs: 20_000, runsOfAnArea }));
    const { refusals } = world();
    assert.ok(refusals.length > 0);
    for (const { status, ms } of refusals) {
      assert.equal(status, 503, 'a start looks up its agent');
      assert.ok(ms < REFUSED_WITHIN_MS + BUSY_MS, `refused after ${ms} ms`);
    }
  });
});

withWorld('redis', (world) => {
  test('Redis away for 2 s: runs of agents, children, judges, stimuli and approvals end as without it', async () => {
    assertWell(await world().outage({ how: 'refused', forMs: 2_000, runsOfAnArea }));
  });
});
