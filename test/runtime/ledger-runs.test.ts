import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { Documents } from '../../runtime/documents.ts';
import { KeptFrom } from '../../runtime/ledger/kept-from.ts';
import { KeyMerge } from '../../runtime/ledger/key-merge.ts';
import { KEY_PAGES, KeyRunWriter } from '../../runtime/ledger/key-run.ts';
import { KeyRuns } from '../../runtime/ledger/key-runs.ts';
import { systemRandom } from '../../runtime/random.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { HandClock } from '../support/hand-clock.ts';
import { overDocuments } from '../support/over-documents.ts';

/** Longer than replaced runs stay. */
const LATER_MS = 10_001;
const FAN_OUT = 8;
const HASH = 5;
/** Keys of more than one page. */
const PAGE_KEYS = 2_000;

let directory = '';
let documents: SqliteDocuments;
let clock: HandClock;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-ledger-runs-'));
  documents = new SqliteDocuments({ directory });
  await documents.open();
  clock = new HandClock();
  await clock.pass(1_000_000);
});
afterEach(async () => {
  await documents.close();
  await rm(directory, { recursive: true, force: true });
});

const opened = (over: Documents): Promise<KeyRuns> => KeyRuns.open({ documents: over, clock });

/** A new process of the node. */
async function mergeOf(keys: KeyRuns): Promise<KeyMerge> {
  const parts = { documents, keys, kept: await KeptFrom.open(documents), clock, random: systemRandom };
  const warn = (message: string, error: unknown): never => {
    throw new Error(message, { cause: error });
  };
  return KeyMerge.open({ ...parts, node: 'node-a', sweeps: () => false, warn });
}

/** A run of one segment that is not complete: its first page of keys is written. */
async function begun(keys: KeyRuns, id: string): Promise<KeyRunWriter> {
  const run = new KeyRunWriter(keys.collections, { id, node: 'node-a', level: 0 }, clock.now());
  await run.addSegment({ tenant: 'acme', id: `s-${id}`, last: 1, from: 1, to: 1, writer: 'node-a', round: 1 });
  for (let key = 0; key < PAGE_KEYS; key += 1) run.addKey(HASH + key * 2 ** 28, 0);
  await run.flush();
  return run;
}

async function complete(keys: KeyRuns, run: KeyRunWriter): Promise<void> {
  const head = await run.finish(clock.now(), []);
  assert.ok(head !== null);
  keys.add(head);
}

test('a key is found while its runs are merged and deleted, however long the look-up waits for their pages', async () => {
  const keys = await opened(documents);
  const ids = Array.from({ length: FAN_OUT }, (_, at) => `run-${at}`);
  for (const id of ids) await complete(keys, await begun(keys, id));
  const held = Promise.withResolvers<void>();
  let waiting = 0;
  const slow = overDocuments(documents, (real, { name }) =>
    name !== KEY_PAGES.name
      ? {}
      : {
          get: async (tenant, id) => {
            waiting += 1;
            await held.promise;
            return real.get(tenant, id);
          },
        },
  );
  const reader = await opened(slow);
  await reader.refresh();
  const found = reader.find('acme', HASH);
  const merge = await mergeOf(keys);
  await merge.step();
  await clock.pass(LATER_MS);
  await merge.step();
  assert.equal((await keys.heads()).length, 1, 'the merged run replaced the others, and they are deleted');
  assert.equal(waiting, FAN_OUT, 'the look-up waits for their pages');
  held.resolve();
  assert.deepEqual((await found).map(({ id }) => id).sort(), ids.map((id) => `s-${id}`).sort());
});

test('a first merge deletes runs that an earlier process left unfinished, and none that this process is writing', async () => {
  await begun(await opened(documents), 'left');
  await clock.pass(1);
  const keys = await opened(documents);
  const merge = await mergeOf(keys);
  const run = await begun(keys, 'mine');
  await merge.step();
  await complete(keys, run);
  const reader = await opened(documents);
  assert.deepEqual(
    (await reader.find('acme', HASH)).map(({ id }) => id),
    ['s-mine'],
  );
  assert.deepEqual(
    (await reader.heads()).map(({ id }) => id),
    ['mine'],
  );
});
