import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { addressOf } from '../../runtime/address.ts';
import type { LedgerPage } from '../../runtime/ledger/ledger-reader.ts';
import { groupSegmentId, partitionSegmentId, placeOfSegment } from '../../runtime/ledger/segment-names.ts';
import { openStores } from '../../runtime/open-stores.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { counter } from '../support/actors.ts';
import { waitUntil } from '../support/wait-until.ts';

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-ledger-positions-'));
});
after(() => rm(directory, { recursive: true, force: true }));

const to = addressOf('counter', 'acme', 'one');

const TRACE = randomUUID().replaceAll('-', '');

/** The ids of the messages of all pages. */
async function idsOf(read: (after: string | undefined) => Promise<LedgerPage>): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await read(after);
    ids.push(...page.deliveries.map(({ message }) => message.id));
    if (page.next === null) return ids.sort();
    after = page.next;
  }
}

/** Starts a node on the directory, sends messages one after the other, and waits until the ledger has each of them. */
async function handled(dataDir: string, earlier: readonly string[], count: number): Promise<string[]> {
  const warn = (): void => {};
  const stores = await openStores({ dataDir, warn });
  const settings = { partitions: 1, systemPartitions: 1 };
  const runtime = await startRuntime({
    ...stores,
    definitions: [counter],
    handlers: [],
    node: 'node-a',
    settings,
    warn,
  });
  const { ledger } = runtime;
  assert.ok(ledger !== null);
  const ids = Array.from({ length: count }, () => randomUUID());
  const isRecorded = async (id: string): Promise<boolean> => (await ledger.message('acme', id)).length === 1;
  for (const messageId of ids) await runtime.client.ask(to, 'Add', { by: 1 }, { messageId, trace: TRACE });
  for (const id of [...earlier, ...ids]) await waitUntil(`delivery ${id} in the ledger`, () => isRecorded(id));
  const all = [...earlier, ...ids].sort();
  // With pages of one delivery each border between two pages lies between deliveries of one position, too.
  for (const limit of [1, 2, 100]) {
    for (const newestFirst of [false, true])
      assert.deepEqual(await idsOf((after) => ledger.actor(to, { limit, after, newestFirst })), all);
    assert.deepEqual(await idsOf((after) => ledger.trace('acme', TRACE, { limit, after })), all);
    assert.deepEqual(await idsOf((after) => ledger.recent('acme', { limit, after })), all);
  }
  await runtime.stop();
  await stores.close();
  return all;
}

test('with a restored actors.db that is older than documents.db each delivery is recorded, those that it lost stay, and pages hold each once', async () => {
  const first = await handled(directory, [], 1);
  const [file, backup] = [join(directory, 'actors.db'), join(directory, 'backup')];
  await copyFile(file, backup);
  const all = await handled(directory, first, 5);
  await copyFile(backup, file);
  // They get the positions of the five, and are fewer.
  await handled(directory, all, 2);
});

test('the name of a segment says with which position it begins, in this version and in earlier ones', () => {
  const at = 1_795_000_000_000;
  for (const seq of [7, 7.0003, 123_456_789.9999]) {
    const start = { seq, at, epoch: 12 };
    assert.deepEqual(placeOfSegment({ id: partitionSegmentId('default:3', start) }), {
      partition: 'default:3',
      group: 'default~3',
      first: seq,
    });
    assert.deepEqual(placeOfSegment({ id: groupSegmentId('default~3', 'log-a', start) }), {
      partition: null,
      group: 'default~3',
      first: seq,
    });
    assert.equal(placeOfSegment({ id: `default:3.${seq}` }).first, seq);
    assert.equal(placeOfSegment({ id: `default~3/${seq}/log-a` }).first, seq);
  }
  const start = { seq: 7, at, epoch: 12 };
  const names = [start, { ...start, seq: 7.0001 }, { ...start, at: at + 1 }, { ...start, epoch: 13 }];
  assert.equal(new Set(names.map((one) => partitionSegmentId('default:3', one))).size, names.length);
});
