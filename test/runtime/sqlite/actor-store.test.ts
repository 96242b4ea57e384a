import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { actorStoreContract } from '../../contract/actor-store.ts';

actorStoreContract('SqliteActorStore', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-actor-store-'));
  let ahead = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
  };
  let store = new SqliteActorStore({ directory, clock });
  await store.open();
  return {
    store,
    reopen: async () => {
      await store.close();
      store = new SqliteActorStore({ directory, clock });
      await store.open();
      return store;
    },
    advance: async (ms) => {
      ahead += ms;
    },
    close: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
});
