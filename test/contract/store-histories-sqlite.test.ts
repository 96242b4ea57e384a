import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SqliteActorStore } from '../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { sample } from '../support/size.ts';
import { storeHistories } from './store-histories.ts';

/** How often a COMMIT fails while faults are on: its group is run again, each call alone. */
const REFUSED = 0.1;

storeHistories(
  'SQLite',
  async (random) => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-histories-'));
    const data = join(directory, 'data');
    const [file, marked] = [join(data, 'actors.db'), join(directory, 'marked.db')];
    const disk = { failing: false };
    const undo = refuseCommits(() => {
      return disk.failing && random() < REFUSED;
    });
    const [documents, blobs] = [new SqliteDocuments({ directory }), new FileBlobs({ directory })];
    for (const port of [documents, blobs]) await port.open();
    let store = new SqliteActorStore({ directory: data });
    return {
      ...{ documents, blobs, direct: () => store, inProcess: true },
      async open() {
        store = new SqliteActorStore({ directory: data });
        await store.open();
        return store;
      },
      disturb() {
        disk.failing = true;
      },
      async calm() {
        disk.failing = false;
      },
      async mark() {
        const reader = new DatabaseSync(file);
        reader.exec(`VACUUM INTO '${marked}'`);
        reader.close();
      },
      async goBack() {
        for (const end of ['-wal', '-shm']) await rm(file + end, { force: true });
        await copyFile(marked, file);
      },
      async close() {
        undo();
        for (const port of [documents, blobs]) await port.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  },
  sample({ normal: 2, long: 6 }),
);

/** Below the adapter: the statement that makes a group durable fails as on a full disk. */
function refuseCommits(refuses: () => boolean): () => void {
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...asked) {
    const statement = prepare.apply(this, asked);
    if (asked[0] !== 'COMMIT') return statement;
    const run = statement.run.bind(statement);
    return Object.assign(statement, {
      run() {
        if (refuses()) throw Object.assign(new Error('disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
        return run();
      },
    });
  };
  return () => {
    DatabaseSync.prototype.prepare = prepare;
  };
}
