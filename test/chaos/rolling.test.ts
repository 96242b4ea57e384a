import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallRolling } from './options.ts';
import { rolling } from './scenarios/rolling.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

test('a rolling restart fails no run, breaks no stream and makes no actor unavailable for long', {
  skip,
  timeout: 300_000,
}, async () => {
  assertKept(await rolling(smallRolling(seed)));
});
