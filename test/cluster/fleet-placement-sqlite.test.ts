import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { fleetPlacementContract } from './fleet-placement.ts';

fleetPlacementContract('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-fleet-'));
  const store = new SqliteActorStore({ directory });
  await store.open();
  return {
    stores: [store, store],
    async clear() {
      for (const { node, incarnation } of await store.members()) await store.retire(node, incarnation);
    },
    async close() {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
});
