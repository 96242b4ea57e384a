import { describe } from 'node:test';
import { commitContract } from './actor-store-commit.ts';
import { effectContract } from './actor-store-effects.ts';
import { faultContract } from './actor-store-faults.ts';
import { fenceContract } from './actor-store-fence.ts';
import { freshContract } from './actor-store-fresh.ts';
import { journalContract } from './actor-store-journal.ts';
import { lateContract } from './actor-store-late.ts';
import { leaseContract } from './actor-store-leases.ts';
import { mailboxContract } from './actor-store-mailbox.ts';
import { memberContract } from './actor-store-members.ts';
import { modelContract } from './actor-store-model.ts';
import { ownEffectContract } from './actor-store-own-effects.ts';
import { sendContract } from './actor-store-sends.ts';
import { timerContract } from './actor-store-timers.ts';
import type { MakeStore } from './store-under-test.ts';

export type { MakeStore, StoreUnderTest } from './store-under-test.ts';

/**
 * The promises of the ActorStore port (runtime/actor-store.ts), which every adapter must keep. `make` returns a store over
 * fresh data; it is called once for each section.
 */
export function actorStoreContract(name: string, make: MakeStore): void {
  describe(`${name} keeps the promises of an actor store`, () => {
    mailboxContract(make);
    freshContract(make);
    leaseContract(make);
    memberContract(make);
    commitContract(make);
    fenceContract(make);
    sendContract(make);
    timerContract(make);
    effectContract(make);
    ownEffectContract(make);
    journalContract(make);
    faultContract(make);
    lateContract(make);
    modelContract(make);
  });
}
