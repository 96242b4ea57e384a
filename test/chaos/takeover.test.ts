import { after, before, describe, test } from 'node:test';
import { type Cluster, clusterMissing } from '../support/cluster/cluster.ts';
import { smallTakeover } from './options.ts';
import { takeoverCluster, takeoverOn } from './scenarios/takeover.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

describe('take-over', { skip, timeout: 360_000 }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await takeoverCluster(smallTakeover('kill', true, seed));
  });
  after(() => cluster?.destroy());

  test('actors of a killed node answer again at once when peers detect its death', { timeout: 300_000 }, async () => {
    assertKept(await takeoverOn(cluster, smallTakeover('kill', true, seed)));
  });

  test('a node that restarts at once takes its own partitions back', { timeout: 300_000 }, async () => {
    assertKept(await takeoverOn(cluster, smallTakeover('restart', true, seed)));
  });

  test('the partitions of a frozen node are taken over when its lease expires, and it commits nothing when it resumes', {
    timeout: 300_000,
  }, async () => {
    assertKept(await takeoverOn(cluster, smallTakeover('freeze', true, seed)));
  });
});
