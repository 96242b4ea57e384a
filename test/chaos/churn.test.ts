import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallChurn } from './options.ts';
import { churn } from './scenarios/churn.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

test('each actor has one committer while nodes join and leave, and untouched actors stay in memory', {
  skip,
  timeout: 300_000,
}, async () => {
  assertKept(await churn(smallChurn(seed)));
});
