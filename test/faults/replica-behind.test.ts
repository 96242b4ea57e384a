import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serversMissing } from '../support/servers-missing.ts';
import { replicaBehind } from './rounds/replica-behind.ts';

const skip = serversMissing();

test('a replica that is seconds behind becomes master of an idle fleet: the runs that it has end, and mailboxes are read', {
  skip,
  timeout: 300_000,
}, async () => {
  const faults = await replicaBehind.open('redis', 1);
  try {
    const outcome = await faults.round(1);
    assert.deepEqual(
      { hung: outcome.hung, nodesEnded: outcome.nodesEnded, lost: outcome.lost, repeated: outcome.repeated },
      { hung: 0, nodesEnded: 0, lost: 0, repeated: 0 },
      outcome.notes?.join('; '),
    );
    assert.notEqual(outcome.recoveryMs, null, outcome.notes?.join('; '));
    assert.ok((outcome.ofStore?.behind ?? 0) > 0, 'partitions were rewound, and a log line reports each');
  } finally {
    await faults.close();
  }
});
