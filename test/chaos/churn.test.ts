import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallChurn } from './options.ts';
import { churn } from './scenarios/churn.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

test('one committer an actor while nodes come and go, and untouched actors stay in memory', {
  skip,
  timeout: 240_000,
}, async () => {
  assertKept(await churn(smallChurn(seed)));
});
