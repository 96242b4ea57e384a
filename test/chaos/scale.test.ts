import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallScale } from './options.ts';
import { scale } from './scenarios/scale.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

test('every ask that one or two worker processes answered is in the state of its actor', {
  skip,
  timeout: 300_000,
}, async () => {
  assertKept(await scale(smallScale(seed)));
});
