import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storesMissing } from '../kill/stores.ts';
import { sample } from '../support/size.ts';
import { earlyCancel } from './rounds/early-cancel.ts';
import { logOnFullDisk } from './rounds/log-on-full-disk.ts';

const ROUNDS = sample({ normal: 1, long: 2 });

/** A few rounds of the cases that `npm run faults` runs a hundred times. */
for (const one of [earlyCancel, logOnFullDisk]) {
  for (const store of one.stores) {
    test(`${one.title} (${store})`, { skip: storesMissing(store), timeout: 300_000 }, async () => {
      const faults = await one.open(store, 1);
      try {
        for (let seed = 1; seed <= ROUNDS; seed += 1) {
          const { runs, hung, nodesEnded, lost, repeated, notes = [] } = await faults.round(seed);
          assert.ok(runs > 0, 'no run was acknowledged');
          assert.deepEqual({ hung, nodesEnded, lost, repeated }, { hung: 0, nodesEnded: 0, lost: 0, repeated: 0 });
          for (const note of notes) console.log(note);
        }
      } finally {
        await faults.close();
      }
    });
  }
}
