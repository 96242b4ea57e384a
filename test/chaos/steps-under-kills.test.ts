import { after, before, describe, test } from 'node:test';
import { type Cluster, clusterMissing } from '../support/cluster/cluster.ts';
import { smallSteps } from './options.ts';
import { stepsCluster, stepsUnderKillsOn } from './scenarios/steps-under-kills.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

describe('steps under kills', { skip, timeout: 480_000 }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await stepsCluster(smallSteps('repeatable', seed));
  });
  after(() => cluster?.destroy());

  test('all runs of repeatable steps end while workers are killed', { timeout: 300_000 }, async () => {
    assertKept(await stepsUnderKillsOn(cluster, smallSteps('repeatable', seed)));
  });

  test('a step of mode once is never repeated: its run reports that it is in doubt', { timeout: 300_000 }, async () => {
    assertKept(await stepsUnderKillsOn(cluster, smallSteps('once', seed)));
  });
});
