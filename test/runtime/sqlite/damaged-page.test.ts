import assert from 'node:assert/strict';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { addressOf } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { EmbeddedEffectQueue } from '../../../runtime/effects/embedded-effect-queue.ts';
import { startRuntime } from '../../../runtime/runtime.ts';
import { SqliteActorStore } from '../../../runtime/sqlite/actor-store.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import { counter } from '../../support/actors.ts';
import { waitUntil } from '../../support/wait-until.ts';

const PAGE_BYTES = 4_096;
const [first, damaged, last] = ['first', 'damaged', 'last'].map((id) => addressOf('counter', 'acme', id));

/** A kernel on the files of a directory. */
async function startOn(directory: string, warnings: string[]) {
  const [store, documents, blobs] = [
    new SqliteActorStore({ directory, warn: (message) => void warnings.push(message) }),
    new SqliteDocuments({ directory }),
    new FileBlobs({ directory }),
  ];
  await Promise.all([store.open(), documents.open(), blobs.open()]);
  const effects = new EmbeddedEffectQueue({ ledger: store, clock: systemClock, onFault: () => {} });
  await effects.open();
  const runtime = await startRuntime({
    ...{ store, documents, blobs, effects, definitions: [counter], handlers: [], node: 'node-a' },
    settings: {
      partitions: 1,
      systemPartitions: 1,
      pollMs: 50,
      retry: { maxAttempts: 2, initialDelayMs: 5, maxDelayMs: 5 },
    },
    warn: (message, error) => void warnings.push(`${message}: ${String(error)}`),
  });
  const stop = async (): Promise<void> => {
    await runtime.stop();
    await effects.close();
    for (const one of [store, documents, blobs]) await one.close();
  };
  return { client: runtime.client, stop };
}

/** Overwrites the page of the file that has the text. */
async function damagePageWith(file: string, text: string): Promise<void> {
  const at = (await readFile(file)).indexOf(text);
  assert.ok(at > 0, `${text} is in the file`);
  const handle = await open(file, 'r+');
  await handle.write(Buffer.alloc(PAGE_BYTES, 0xee), 0, PAGE_BYTES, Math.floor(at / PAGE_BYTES) * PAGE_BYTES);
  await handle.close();
}

test('an actor whose page of the data file is damaged fails alone; the others of its partition go on', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-damaged-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  const warnings: string[] = [];
  const before = await startOn(directory, warnings);
  for (const to of [first, damaged, last]) {
    assert.ok(to !== undefined);
    await before.client.ask(to, 'Fill', { text: `${to} ${'x'.repeat(3_500)}` });
  }
  await before.stop();
  await damagePageWith(join(directory, 'actors.db'), `"blob":"${damaged} `);
  const { client, stop } = await startOn(directory, warnings);
  const get = (to: typeof first) => client.ask(to ?? assert.fail(), 'Get', {}, { timeoutMs: 5_000 });
  const [bad, ...others] = await Promise.allSettled([get(damaged), get(first), get(last)]);
  assert.deepEqual(
    others.map(({ status }) => status),
    ['fulfilled', 'fulfilled'],
    warnings.join('\n'),
  );
  assert.equal(bad?.status === 'rejected' && bad.reason.code, 'dead_lettered', warnings.join('\n'));
  await stop();
});

/** Overwrites a leaf of an index, in a file that no process has open. */
async function damageIndex(file: string, index: string): Promise<void> {
  const database = new DatabaseSync(file);
  const find = database.prepare(
    "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY pageno DESC LIMIT 1",
  );
  const page = Number(find.get(index)?.pageno);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const handle = await open(file, 'r+');
  await handle.write(Buffer.alloc(PAGE_BYTES, 0xee), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES);
  await handle.close();
}

for (const index of ['sqlite_autoindex_actors_1', 'timers_due']) {
  test(`a damaged page of the index ${index} is built again from its table: nothing is lost, and the log names the index`, async (context) => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-damaged-'));
    context.after(() => rm(directory, { recursive: true, force: true }));
    const warnings: string[] = [];
    const all = Array.from({ length: 100 }, (_, n) => addressOf('counter', 'acme', `a${n}-${'x'.repeat(50)}`));
    const before = await startOn(directory, warnings);
    await Promise.all(all.map((to) => before.client.ask(to, 'Add', { by: 1 })));
    await Promise.all(all.map((to) => before.client.tell(to, 'AddLater', { by: 1, afterMs: 2_000 })));
    await Promise.all(all.map((to) => before.client.ask(to, 'Get', {})));
    await before.stop();
    const file = join(directory, 'actors.db');
    await damageIndex(file, index);
    const { client, stop } = await startOn(directory, warnings);
    assert.deepEqual(new Set(await Promise.all(all.map((to) => client.ask(to, 'Add', { by: 10 })))), new Set([11]));
    await waitUntil('the timers fire', async () => {
      const values = await Promise.all(all.map((to) => client.ask(to, 'Add', { by: 0 })));
      return values.every((value) => value === 12);
    });
    assert.match(warnings.join('\n'), new RegExp(`the index ${index} was built again from its table`));
    await stop();
    const database = new DatabaseSync(file);
    assert.deepEqual(
      database
        .prepare('PRAGMA integrity_check')
        .all()
        .map((row) => row.integrity_check),
      ['ok'],
    );
    database.close();
  });
}
