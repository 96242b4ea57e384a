import { test } from 'node:test';
import { smallRetention } from './options.ts';
import { retentionSoak } from './scenarios/retention-soak.ts';
import { assertKept, seed } from './seed.ts';

test('under steady load with short retention, data, memory and descriptors reach a plateau', {
  timeout: 300_000,
}, async () => {
  assertKept(await retentionSoak(smallRetention('sqlite', seed)));
});
