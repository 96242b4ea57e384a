import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../../runtime/address.ts';
import { RedisActorStore } from '../../runtime/redis/redis-actor-store.ts';
import { connectClient } from '../../runtime/runtime.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { counter, KEYS, PAYLOAD } from '../counter.ts';
import { closedLoop, type LoadPlan } from '../load.ts';
import { serveProfiled } from '../profile.ts';
import { roleOptions } from '../role.ts';

const { url, partitions } = roleOptions<{ url: string; partitions: number }>();
const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
const store = new RedisActorStore({ urls: url });
const documents = new SqliteDocuments({ directory });
const blobs = new FileBlobs({ directory });
await Promise.all([store.open(), documents.open(), blobs.open()]);
const client = await connectClient({
  store,
  documents,
  blobs,
  definitions: [counter],
  settings: { partitions },
  warn: (message, error) => console.error(message, error),
});
const addresses = Array.from({ length: KEYS }, (_, key) => addressOf('counter', 'bench', `${key}`));
let acknowledged = 0;

await serveProfiled(
  async (plan: LoadPlan | { check: true }) => {
    if ('check' in plan) {
      // Checks that acknowledged work is stored: one state value for each answered ask.
      let sum = 0;
      for (const address of addresses) {
        const snapshot = await client.read(address);
        sum += snapshot === null ? 0 : counter.state.parse(snapshot.state).value;
      }
      return { acknowledged, sum };
    }
    return closedLoop(plan, async (index) => {
      const address = addresses[(index * 7_919) % KEYS];
      if (address === undefined) throw new Error('no such key');
      await client.ask(address, 'Add', { payload: PAYLOAD });
      acknowledged += 1;
    });
  },
  async () => {
    client.close();
    await Promise.all([store.close(), documents.close(), blobs.close()]);
    await rm(directory, { recursive: true, force: true });
  },
);
