import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallPrograms } from './options.ts';
import { programsUnderKills } from './scenarios/programs-under-kills.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

test('random programs end with the precomputed result while nodes, adapters and Redis die', {
  skip,
  timeout: 300_000,
}, async () => {
  assertKept(await programsUnderKills(smallPrograms(seed)));
});
