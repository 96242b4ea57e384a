import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallTakeover } from './options.ts';
import { takeover } from './scenarios/takeover.ts';
import { assertKept, seed } from './seed.ts';

const skip = await clusterMissing();

test('actors of a killed node answer at once where peers see it die', { skip, timeout: 180_000 }, async () => {
  assertKept(await takeover(smallTakeover('kill', true, seed)));
});

test('a node that restarts at once takes its own partitions back', { skip, timeout: 180_000 }, async () => {
  assertKept(await takeover(smallTakeover('restart', true, seed)));
});

test('a frozen node is taken over by its lease and commits nothing when it wakes', {
  skip,
  timeout: 180_000,
}, async () => {
  assertKept(await takeover(smallTakeover('freeze', true, seed)));
});
