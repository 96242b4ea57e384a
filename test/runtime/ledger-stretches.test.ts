import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, type Partition } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Collection } from '../../runtime/documents.ts';
import type { KeyRun, KeyRunPage } from '../../runtime/ledger/key-run.ts';
import { KeyRuns } from '../../runtime/ledger/key-runs.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import type { DeadLetter, LedgerSegment } from '../../runtime/ledger/segments.ts';
import { LedgerWriter, ledgerPart } from '../../runtime/ledger/writing/ledger-writer.ts';
import type { ProjectedCommit } from '../../runtime/projection/views.ts';
import { systemRandom } from '../../runtime/random.ts';

const to = addressOf('counter', 'acme', 'one');

/** Only `putMany` is called. */
function taking<T extends { tenant: string; id: string; version: number }>(taken: (docs: readonly T[]) => void) {
  const refuse = (): never => {
    throw new Error('only putMany is expected');
  };
  const all: Collection<T> = {
    ...{ insert: refuse, put: refuse, replace: refuse, get: refuse, find: refuse, findStored: refuse },
    ...{ count: refuse, delete: refuse, deleteVersion: refuse, deleteMany: refuse, total: refuse, tenants: refuse },
    putMany: async (docs) => taken(docs),
  };
  return all;
}

test('a second of many deliveries is written in stretches of some 256 KB, each delivery once and in order', async () => {
  const puts: (readonly LedgerSegment[])[] = [];
  const heads: KeyRun[] = [];
  const keys = new KeyRuns(
    {
      runs: {
        ...taking<KeyRun>(() => {}),
        put: async (run: KeyRun) => heads.push(run) > 0,
        findStored: async () => [],
      },
      pages: taking<KeyRunPage>(() => {}),
    },
    systemClock,
  );
  const writer = new LedgerWriter(
    { node: 'node-a', clock: systemClock, random: systemRandom, keys },
    taking<LedgerSegment>((docs) => puts.push(docs)),
    taking<DeadLetter>(() => {}),
  );
  const message = { id: 'm', to, from: null, cause: null, trace: 't', origin: 'client', type: 'Add' };
  const body = JSON.stringify({ ...message, payload: 'x'.repeat(10_000) });
  const commitsOf = (partition: Partition): ProjectedCommit[] =>
    Array.from({ length: 50 }, (_, n) => {
      const seqs = [1 + 2 * n, 2 + 2 * n];
      const entries = seqs.map((seq) => ({ seq, at: 1_000 + seq, body }));
      return {
        upTo: 2 + 2 * n,
        epoch: 1,
        entries,
        targets: [to, to],
        partitions: [partition, partition],
        rows: [],
        node: null,
        keys: [],
      };
    });
  await writer.write([ledgerPart(null, commitsOf('default:0')), ledgerPart(null, commitsOf('default:1'))]);
  assert.equal(heads.length, 1, 'one run of keys');
  assert.ok(puts.length >= 7, `${puts.length} writes of 2 MB`);
  for (const partition of ['default:0', 'default:1']) {
    const seqs: number[] = [];
    for (const segment of puts.flat().filter((one) => one.partition === partition)) {
      const lines: [number][] = JSON.parse(await unpackLines(segment.lines));
      assert.deepEqual([segment.first, segment.last], [lines[0]?.[0], lines.at(-1)?.[0]]);
      seqs.push(...lines.map(([seq]) => seq));
    }
    assert.deepEqual(
      seqs,
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
  }
});
