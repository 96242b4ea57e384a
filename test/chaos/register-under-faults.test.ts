import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { smallRegister } from './options.ts';
import { registerUnderFaults } from './scenarios/register-under-faults.ts';
import { assertKept, seed } from './seed.ts';

const skip = await clusterMissing();

for (const run of [0, 1, 2]) {
  test(`a register is linearizable under kill, freeze and cut (${run + 1} of 3)`, {
    skip,
    timeout: 180_000,
  }, async () => {
    assertKept(await registerUnderFaults(smallRegister(seed + run)));
  });
}
