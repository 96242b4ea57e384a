import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { SYSTEM_TENANT } from '../../runtime/identity.ts';
import { type OpenStores, openStores, type StoreLocation } from '../../runtime/open-stores.ts';
import { ProjectionRounds } from '../../runtime/projection/rounds.ts';
import {
  documentFacts,
  FORMAT,
  formatFact,
  MIN_READER,
  parseFormatNote,
  roundFact,
  type StoreFacts,
  StoreFormats,
  VERSION,
} from '../../runtime/store-formats.ts';
import { startMongo } from '../support/ferretdb.ts';
import { startRedis } from '../support/redis.ts';
import { serversMissing } from '../support/servers-missing.ts';

const noServers = serversMissing();
const LATER = { format: 9, min_reader: 8, written_by: '7.0.0' };
const BESIDE = { format: 9, min_reader: FORMAT, written_by: '7.0.0' };
const unreadable = (where: RegExp) => (thrown: unknown) => {
  assert.ok(thrown instanceof Error);
  assert.match(thrown.message, where);
  assert.ok(thrown.message.includes(`format 9, written by svc 7.0.0, and this is svc ${VERSION}`), thrown.message);
  return true;
};

describe('formats of stores', () => {
  for (const kind of ['SQLite', 'Redis and FerretDB'] as const) {
    describe(kind, { skip: kind !== 'SQLite' && noServers, timeout: 300_000 }, () => {
      let location: Omit<StoreLocation, 'warn' | 'dataDir'> = {};
      let redis: Redis | null = null;
      let stop = async (): Promise<void> => {};
      const directories: string[] = [];
      const directory = async (): Promise<string> => {
        const made = await mkdtemp(join(tmpdir(), 'svc-formats-'));
        directories.push(made);
        return made;
      };
      const opened = async <T>(
        dataDir: string,
        use: (stores: OpenStores) => Promise<T>,
        acceptOlderDocuments?: string,
      ): Promise<T> => {
        const stores = await openStores({ ...location, dataDir, acceptOlderDocuments, warn: () => {} });
        try {
          return await use(stores);
        } finally {
          await stores.close();
        }
      };
      /** What all stores hold of formats. */
      const notes = (dataDir: string) =>
        opened(dataDir, async ({ store, documents }) => {
          const facts = await documentFacts(documents);
          const kept = await facts.get(SYSTEM_TENANT, formatFact(FORMAT));
          return [kept?.text, (await store.facts()).get(formatFact(FORMAT))].map(
            (text) => parseFormatNote('', text ?? '').min_reader,
          );
        });

      before(async () => {
        if (kind === 'SQLite') return;
        const [server, mongo] = await Promise.all([startRedis(), startMongo()]);
        redis = new Redis(server.url);
        location = { redis: [server.url], mongodb: mongo.uri };
        stop = async () => {
          redis?.disconnect();
          await Promise.all([server.stop(), mongo.stop()]);
        };
      });
      after(async () => {
        await stop();
        for (const made of directories) await rm(made, { recursive: true, force: true });
      });

      it('a store records which version wrote it; an older program may still write until the contraction, and is refused then', async () => {
        const dataDir = await directory();
        assert.deepEqual(await notes(dataDir), kind === 'SQLite' ? [MIN_READER, MIN_READER] : [1, 1]);
        const pools = () => opened(dataDir, ({ store }) => store.pools());
        await opened(dataDir, ({ store }) => store.definePool('default', 8));
        const put = ({ blobs }: OpenStores) => blobs.put('acme', Buffer.from('large'), 'execution/acme/1');
        const shared = /^[0-9a-f]{64}$/;
        // Programs of format 1 cannot read a reference with an owner.
        if (kind !== 'SQLite') assert.match(await opened(dataDir, put), shared);
        await opened(dataDir, ({ formats }) => formats.contract());
        assert.doesNotMatch(await opened(dataDir, put), shared);
        await opened(dataDir, ({ formats }) => formats.contract());
        assert.deepEqual(await notes(dataDir), [MIN_READER, MIN_READER]);
        assert.deepEqual(await pools(), [{ pool: 'default', partitions: 8 }]);
        assert.equal(await opened(dataDir, ({ store }) => store.definePool('default', 16)), 8);
        // What programs of format 1 look at, when they start.
        if (redis !== null) assert.ok(Number.isNaN(Number(await redis.hget('svc:pools', 'default'))));
        else {
          const database = new DatabaseSync(join(dataDir, 'actors.db'), { readOnly: true });
          assert.equal(database.prepare('PRAGMA user_version').get()?.user_version, FORMAT);
          database.close();
        }
      });

      it('a start that finds its own note does not write it again', async () => {
        const dataDir = await directory();
        await opened(dataDir, async ({ store, documents, formats }) => {
          await formats.contract();
          const kept: string[] = [];
          const watched: StoreFacts = {
            facts: () => store.facts(),
            refuseOlderPrograms: () => store.refuseOlderPrograms(),
            keepFact: async (name) => void kept.push(name),
          };
          const names = { store: 'the store', documents: 'the documents' };
          await new StoreFormats({ names, dataDir, store: watched, documents }).contract();
          assert.deepEqual(kept, []);
        });
      });

      it('that a later version wrote are refused with both versions named, wherever they are, and nothing is written', async () => {
        const dataDir = await directory();
        await opened(dataDir, async () => {});
        const file = join(dataDir, 'format.json');
        const own = await readFile(file, 'utf8');
        await writeFile(file, JSON.stringify(LATER));
        await assert.rejects(opened(dataDir, notOpened), unreadable(/^the data directory /));
        await writeFile(file, own);

        const inDocuments = { tenant: SYSTEM_TENANT, id: formatFact(9) };
        const text = JSON.stringify(LATER);
        await opened(dataDir, async ({ documents }) => {
          await (await documentFacts(documents)).put({ ...inDocuments, version: 8, text });
        });
        await assert.rejects(
          opened(await directory(), notOpened),
          kind === 'SQLite' ? { message: 'opened' } : unreadable(/^MongoDB /),
        );
        await assert.rejects(opened(dataDir, notOpened), unreadable(kind === 'SQLite' ? /documents\.db/ : /^MongoDB /));
        const raw = await rawStores(dataDir);
        await (await documentFacts(raw.documents)).delete(SYSTEM_TENANT, inDocuments.id);
        await raw.close();

        await opened(dataDir, ({ store }) => store.keepFact(formatFact(9), text));
        await assert.rejects(opened(dataDir, notOpened), unreadable(kind === 'SQLite' ? /actors\.db/ : /^Redis /));
        assert.equal(await readFile(file, 'utf8'), own);
        if (redis !== null) await redis.hset('svc:facts', formatFact(9), JSON.stringify(BESIDE));
      });

      it('of a newer version that still writes this version’s format are accepted', async () => {
        const dataDir = await directory();
        await opened(dataDir, ({ store }) => store.keepFact(formatFact(9), JSON.stringify(BESIDE)));
        await opened(dataDir, async () => {});
      });

      it('refuse documents that are older than the log, until exactly that loss is accepted', async () => {
        const dataDir = await directory();
        const round = (node: string) =>
          opened(dataDir, async ({ store, documents }) =>
            (await ProjectionRounds.open({ store, documents, node })).finish(),
          );
        for (const node of ['ada', 'ada', 'bert']) await round(node);
        const restore = async (version: number): Promise<void> => {
          const { documents, close } = await rawStores(dataDir);
          const facts = await documentFacts(documents);
          await facts.delete(SYSTEM_TENANT, roundFact('ada'));
          await facts.put({ tenant: SYSTEM_TENANT, id: roundFact('ada'), version, text: '' });
          await close();
        };
        await opened(dataDir, async () => {});
        await restore(1);
        const said = await opened(dataDir, notOpened).catch((error: Error) => error.message);
        assert.match(said, /round 1 of node ada, the log begins behind round 2/);
        const [word = ''] = /[0-9a-f]{12}$/.exec(said) ?? [];
        await assert.rejects(opened(dataDir, notOpened, 'f'.repeat(12)), { code: 'failed_precondition' });
        await opened(dataDir, async () => {}, word);
        await opened(dataDir, async () => {});
        await restore(0);
        await assert.rejects(opened(dataDir, notOpened, word), { code: 'failed_precondition' }, 'that is another loss');
        await restore(7);
        await opened(dataDir, async () => {}, word);
      });

      it('an empty actor store beside documents of earlier nodes is named at the start, and only then', async () => {
        const dataDir = await directory();
        const lost = () =>
          opened(dataDir, async ({ notes }) => notes.filter((note) => note.includes(' is empty, but ')));
        assert.deepEqual(await lost(), []);
        await opened(dataDir, async ({ store, documents }) =>
          (await ProjectionRounds.open({ store, documents, node: 'ada' })).finish(),
        );
        assert.deepEqual(await lost(), []);
        if (redis !== null) await redis.flushall();
        else for (const end of ['', '-wal', '-shm']) await rm(join(dataDir, `actors.db${end}`), { force: true });
        const [said = '', ...more] = await lost();
        assert.match(said, /running work of that time is not here.* restore /);
        assert.deepEqual(more, []);
      });

      /** Documents without any check. */
      const rawStores = async (dataDir: string) => {
        const { SqliteDocuments } = await import('../../runtime/sqlite/documents.ts');
        const { MongoDocuments } = await import('../../runtime/mongo/documents.ts');
        const { mongodb } = location;
        const documents =
          mongodb === undefined ? new SqliteDocuments({ directory: dataDir }) : new MongoDocuments({ uri: mongodb });
        await documents.open();
        return { documents, close: () => documents.close() };
      };
    });
  }
});

async function notOpened(): Promise<never> {
  throw new Error('opened');
}
