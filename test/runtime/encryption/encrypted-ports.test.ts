import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { addressOf } from '../../../runtime/address.ts';
import { PAYLOAD_LIMIT_BYTES } from '../../../runtime/blobs.ts';
import { type Clock, systemClock } from '../../../runtime/clock.ts';
import { EncryptedActorStore } from '../../../runtime/encryption/encrypted-actor-store.ts';
import { encryptedBlobs } from '../../../runtime/encryption/encrypted-blobs.ts';
import { EncryptedDocuments } from '../../../runtime/encryption/encrypted-documents.ts';
import { ADDED_BYTES, TextCipher } from '../../../runtime/encryption/text-cipher.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { actorStoreContract } from '../../contract/actor-store.ts';
import { blobsContract } from '../../contract/blobs.ts';
import { documentsContract } from '../../contract/documents.ts';
import { TestPayloadKeys } from '../../support/payload-keys.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** As in a process of its own: it has fetched no key yet. */
function cipher(): TextCipher {
  const made = new TextCipher();
  made.use(new TestPayloadKeys());
  return made;
}

const privateDirectory = () => mkdtemp(join(tmpdir(), 'svc-encrypted-'));

actorStoreContract('an encrypted SqliteActorStore', async () => {
  const directory = await privateDirectory();
  let ahead = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
  };
  const make = () => new EncryptedActorStore(new SqliteActorStore({ directory, clock }), cipher());
  let store = make();
  await store.open();
  return {
    store,
    reopen: async () => {
      await store.close();
      store = make();
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

test('a damaged reply is dropped, and the next one is received', async () => {
  const directory = await privateDirectory();
  const inner = new SqliteActorStore({ directory });
  let tell = (_messageId: string, _body: string): void => {};
  inner.onReply = (_session, receive) => {
    tell = receive;
    return () => {};
  };
  const [writer, reader] = [cipher(), new EncryptedActorStore(inner, cipher())];
  const heard: string[] = [];
  reader.onReply('session', (messageId, body) => heard.push(`${messageId} ${body}`));
  await writer.toWrite([SYSTEM_TENANT]);
  const text = writer.encryptShared('answer', 'reply');
  tell('damaged', `${text.slice(0, -8)}AAAAAAA=`);
  tell('sound', text);
  await waitUntil('the sound one', () => heard.length > 0);
  assert.deepEqual(heard, ['sound answer']);
  await rm(directory, { recursive: true });
});

test('a damaged message is read as it is stored, and a damaged record fails alone: the others can be read', async () => {
  const directory = await privateDirectory();
  const [inner, writer] = [new SqliteActorStore({ directory }), cipher()];
  const reader = new EncryptedActorStore(inner, cipher());
  await reader.open();
  const [sound, broken] = [addressOf('thing', 'acme', 'sound'), addressOf('thing', 'acme', 'broken')];
  await writer.toWrite(['acme']);
  const damaged = (use: string): string => `${writer.encrypt('acme', 'a text', use).slice(0, -8)}AAAAAAA=`;
  const message = damaged('message');
  await inner.append('default:0', [{ id: '1', to: broken, body: message }], 10);
  await reader.append('default:0', [{ id: '2', to: sound, body: '{}' }], 10);
  const granted = await reader.acquire('default:0', 'node-a', 'grant', 60_000);
  assert.ok(granted.kind === 'granted');
  const { lease } = granted;
  const [entries] = await reader.poll([{ lease, after: 0 }], 10);
  assert.deepEqual(
    entries?.map(({ body }) => body),
    [message, '{}'],
  );
  const change = { events: [], sends: [], timersSet: [], timersCleared: [], effectsOpened: [], effectsCancelled: [] };
  const rest = { ...change, after: 0, upTo: 0, journal: null, replies: [], handled: [] };
  const records = [{ address: sound, record: 'a record' }];
  const outcome = await reader.commit({ lease, ...rest, records }, 10);
  assert.deepEqual(outcome.kind === 'committed' && outcome.next.map(({ body }) => body), [message, '{}']);
  await inner.commit({ lease, ...rest, records: [{ address: broken, record: damaged(`record ${broken}`) }] }, 10);
  await assert.rejects(reader.load('default:0', [sound, broken]), { code: 'internal', store: 'actors' });
  assert.deepEqual(await reader.load('default:0', [sound]), ['a record']);
  await reader.close();
  await rm(directory, { recursive: true });
});

/** What the contract searches by without an index. */
const SEARCHED = ['n', 's', 'b', 'mixed', 'unknown', 'size', 'name'];

documentsContract(
  'encrypted SQLite',
  async () => {
    const directory = await privateDirectory();
    const make = () => new EncryptedDocuments(new SqliteDocuments({ directory }), cipher(), () => SEARCHED);
    const documents = make();
    await documents.open();
    return {
      documents,
      another: make,
      async stop() {
        await documents.close();
        await rm(directory, { recursive: true });
      },
    };
  },
  { many: 500, runs: 5 },
);

blobsContract(
  'encrypted files',
  async () => {
    const directory = await privateDirectory();
    const mostBytes = PAYLOAD_LIMIT_BYTES + ADDED_BYTES;
    const make = () => encryptedBlobs(new FileBlobs({ directory, mostBytes }), cipher());
    const blobs = make();
    await blobs.open();
    return {
      blobs,
      another: make,
      async stop() {
        await blobs.close();
        await rm(directory, { recursive: true });
      },
    };
  },
  { encrypted: true },
);
