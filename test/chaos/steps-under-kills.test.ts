import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallSteps } from './options.ts';
import { stepsUnderKills } from './scenarios/steps-under-kills.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

test('runs of repeatable steps all end while workers are killed', { skip, timeout: 240_000 }, async () => {
  assertKept(await stepsUnderKills(smallSteps('repeatable', seed)));
});

test('a step that runs once is never repeated: its run says in doubt', { skip, timeout: 240_000 }, async () => {
  assertKept(await stepsUnderKills(smallSteps('once', seed)));
});
