import { test } from 'node:test';
import { clusterMissing } from '../support/cluster/cluster.ts';
import { REGISTER_SEEDS, smallRegister } from './options.ts';
import { registerUnderFaults } from './scenarios/register-under-faults.ts';
import { assertKept, seed } from './seed.ts';

const skip = clusterMissing();

for (let run = 0; run < REGISTER_SEEDS; run += 1) {
  test(`a register is linearizable under kill, freeze and cut (${run + 1} of ${REGISTER_SEEDS})`, {
    skip,
    timeout: 180_000,
  }, async () => {
    assertKept(await registerUnderFaults(smallRegister(seed + run)));
  });
}
