import { describe } from 'node:test';
import { someOf } from '../support/size.ts';
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
import { unreadContract } from './actor-store-unread.ts';
import type { MakeStore } from './store-under-test.ts';

export type { MakeStore, StoreUnderTest } from './store-under-test.ts';

type Section = (make: MakeStore) => void;

/** The changes of one commit in the mailboxes of several actors. */
const OF_SEVERAL_ACTORS: readonly Section[] = [commitContract, sendContract];
const OF_ONE_ACTOR: readonly Section[] = [
  mailboxContract,
  unreadContract,
  freshContract,
  leaseContract,
  memberContract,
  fenceContract,
  timerContract,
  effectContract,
  ownEffectContract,
  journalContract,
  faultContract,
  lateContract,
  modelContract,
];

/**
 * The promises of the ActorStore port (runtime/actor-store.ts), which every adapter must keep. `make` returns a store
 * over fresh data; it is called once for each section. Of the sections on one actor every `nth` one runs, from a random
 * one on, for an adapter whose parts were tested with another one; a long run has all of them.
 */
export function actorStoreContract(name: string, make: MakeStore, nth = 1): void {
  describe(`${name} keeps the promises of an actor store`, () => {
    for (const section of [...OF_SEVERAL_ACTORS, ...someOf(OF_ONE_ACTOR, nth)]) section(make);
  });
}
