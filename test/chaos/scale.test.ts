import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallScale } from './options.ts';
import { scale } from './scenarios/scale.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

test('asks answered by one and by two worker processes are all in the actors', { skip, timeout: 300_000 }, async () => {
  assertKept(await scale(smallScale(seed)));
});
