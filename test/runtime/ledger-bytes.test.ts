import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addressOf } from '../../runtime/address.ts';
import { hashOf } from '../../runtime/ledger/key-hash.ts';
import { decodeKeys } from '../../runtime/ledger/key-pages.ts';
import { keysIn } from '../../runtime/ledger/keys.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import { LedgerRound } from '../../runtime/ledger/writing/ledger-round.ts';
import { ledgerPart } from '../../runtime/ledger/writing/ledger-writer.ts';
import { RecordedChunks, RecordedCommits } from '../../runtime/ledger/writing/recorded-commits.ts';
import type { ProjectedCommit } from '../../runtime/projection/views.ts';

const word = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' });
const name = fc.oneof(fc.uuid(), fc.constantFrom('one', 'two.three'));
const id = fc.oneof({ weight: 3, arbitrary: fc.uuid() }, { weight: 1, arbitrary: word });
const message = fc.record({
  id,
  to: fc.tuple(fc.constantFrom('acme', 'beta'), name).map(([tenant, one]) => addressOf('counter', tenant, one)),
  from: fc.oneof(fc.constant(null), id),
  cause: fc.oneof(fc.constant(null), id),
  trace: id,
  origin: fc.constantFrom('client', 'actor', 'timer', 'effect'),
  type: fc.oneof(fc.constant('Ran'), word),
  payload: fc.oneof(fc.jsonValue(), fc.record({ effectId: id })),
});
type Made = typeof message extends fc.Arbitrary<infer One> ? One : never;

function commitOf(messages: readonly Made[], first: number): ProjectedCommit {
  const rows = messages.map((_one, at) => ({ outcome: 'done', now: 5e12 + at, waitMs: at / 2, turnUs: at }) as const);
  const rowTexts = rows.map((row) => JSON.stringify(row));
  return {
    upTo: first + messages.length,
    epoch: 3,
    node: 'node-a',
    entries: messages.map((one, at) => ({ seq: first + at / 4, at: 1e12 + at, body: JSON.stringify(one) })),
    targets: messages.map(({ to }) => to),
    partitions: messages.map((_one, at) => `default:${at % 3}` as const),
    rows,
    rowTexts,
    turns: rowTexts.join(','),
    keys: messages.map(() => null),
  };
}

async function packed(commits: readonly ProjectedCommit[]) {
  const round = new LedgerRound();
  round.begin('node-a', 7);
  const { recorded } = ledgerPart('log-1', commits);
  assert.ok(recorded !== null);
  assert.equal(await round.add([recorded], 8), null);
  return round.end();
}

test('deliveries in any script come back from their segments, and their keys are those of their messages', async () => {
  const all = fc.array(fc.array(message, { maxLength: 12 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(all, async (batches) => {
      const commits = batches.map((messages, at) => commitOf(messages, 1 + 100 * at));
      const { groups, runs } = await packed(commits);
      const lines: unknown[][] = [];
      for (const { lines: text } of groups.flat()) lines.push(...JSON.parse(await unpackLines(text)));
      const expected = commits.flatMap(({ entries, rows, epoch, partitions }) =>
        entries.map(({ seq, at, body }, index) => [
          ...[seq, at, epoch, rows[index], JSON.parse(body)],
          Number(partitions[index]?.split(':')[1]),
        ]),
      );
      const bySeq = (one: readonly unknown[], other: readonly unknown[]) => Number(one[0]) - Number(other[0]);
      assert.deepEqual(lines.sort(bySeq), JSON.parse(JSON.stringify(expected)));
      const hashes = new Set<number>();
      for (const { body } of commits.flatMap(({ entries }) => entries)) {
        const { to, keys } = keysIn(body);
        const tenant = to.split('/')[1] ?? '';
        hashes.add(hashOf('actor', tenant, to));
        hashes.add(hashOf('message', tenant, keys.id));
        hashes.add(hashOf('trace', tenant, keys.trace));
        if (keys.cause !== null) hashes.add(hashOf('cause', tenant, keys.cause));
        if (keys.effect !== null) hashes.add(hashOf('effect', tenant, keys.effect));
      }
      const found = runs.flatMap(({ keys }) => keys.full).flatMap((page) => [...decodeKeys(page).hashes]);
      assert.deepEqual(new Set(found), hashes);
    }),
    { numRuns: 60 },
  );
});

const call: Made = {
  ...{ id: 'm', to: addressOf('counter', 'acme', 'one'), from: null, cause: null, trace: 't' },
  ...{ origin: 'client', type: 'Add', payload: 'x'.repeat(100_000) },
};

test('memory of deliveries is used again once they are released, and not while a thread may read them', () => {
  const memory = new RecordedChunks();
  const recorded = new RecordedCommits('log-1', memory);
  const memoryOf = (bytes: number) => {
    const { pieces } = recorded.first(bytes);
    assert.equal(pieces.length, 1);
    return pieces[0]?.bytes;
  };
  const one = recorded.add(commitOf([call], 1)).bytes;
  const two = recorded.add(commitOf([call], 2)).bytes;
  const first = memoryOf(one + two);
  recorded.release(one);
  assert.equal(memoryOf(two), first);
  recorded.release(two);
  const again = recorded.add(commitOf([call], 3)).bytes;
  assert.equal(memoryOf(again), first);
  recorded.clear();
  const other = recorded.add(commitOf([call], 4)).bytes;
  assert.notEqual(memoryOf(other), first);
});

test('a log with few deliveries holds little memory, and one with many gets large pieces', () => {
  const recorded = new RecordedCommits(null);
  const small = { ...call, payload: 'x' };
  const bytesOf = (): number[] => recorded.first(Number.MAX_SAFE_INTEGER).pieces.map(({ bytes }) => bytes.byteLength);
  recorded.add(commitOf([small], 1));
  assert.deepEqual(bytesOf(), [16_384]);
  for (let at = 2; at < 200; at += 1) recorded.add(commitOf([small], at));
  assert.deepEqual(bytesOf(), [16_384, 262_144]);
});

test('a commit larger than a piece of memory, in no ASCII, is one piece', async () => {
  const large = [1, 2, 3, 4].map((at) => ({ ...call, id: `m${at}`, payload: 'ü漢'.repeat(50_000) }));
  const { recorded } = ledgerPart('log-1', [commitOf(large, 1)]);
  assert.equal(recorded?.pieces.filter(({ from, to }) => to > from).length, 1);
  const { groups } = await packed([commitOf(large, 1)]);
  const texts = await Promise.all(groups.flat().map(({ lines }) => unpackLines(lines)));
  for (const one of large) assert.ok(texts.some((text) => text.includes(JSON.stringify(one))));
});
