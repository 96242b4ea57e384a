import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { FaultKind } from '../../../manifests/audit/links.ts';
import type { AuditExport, AuditRecord } from '../../../manifests/audit/record.ts';
import { verifyAudit } from '../../../manifests/audit/verify.ts';
import { sample } from '../../support/size.ts';
import { chainOf, exportOf, headOf, rechain, signer } from './call-chains.ts';

const node = signer('node');
const stranger = signer('stranger');
const jwks = { keys: [node.jwk] };
const good = exportOf(chainOf(5), node);
const other = exportOf(chainOf(5, 'session-2'), node, 'session-2');
const RUNS = sample({ normal: 100, long: 1_000 });

const kindsOf = async (exported: unknown): Promise<FaultKind[]> =>
  (await verifyAudit(exported, jwks)).faults.map(({ kind }) => kind);
const withRecords = (records: unknown[]): object => ({ ...good, records });
const at = (index: number): AuditRecord => {
  const record = good.records[index];
  assert.ok(record !== undefined);
  return record;
};
const index = fc.integer({ min: 0, max: good.records.length - 1 });

test('an unchanged chain has no fault, also with other keys beside its own', async () => {
  for (const keys of [[node.jwk], [stranger.jwk, node.jwk]]) {
    const verdict = await verifyAudit(good, { keys });
    assert.deepEqual([verdict.valid, verdict.signature, verdict.faults], [true, 'good', []]);
    assert.deepEqual([verdict.session_id, verdict.tenant, verdict.records], ['session-1', 'acme', 12]);
  }
});

test('without keys only the hashes are checked, and the verdict says so', async () => {
  const verdict = await verifyAudit(good, null);
  assert.deepEqual([verdict.valid, verdict.signature], [true, 'unchecked']);
  assert.equal((await verifyAudit(withRecords(good.records.slice(0, -1)), null)).valid, false);
});

describe(`every one of ${RUNS} is found:`, () => {
  const found = (arbitrary: fc.Arbitrary<unknown>, kinds: readonly FaultKind[]) => async () => {
    await fc.assert(
      fc.asyncProperty(arbitrary, async (tampered) => {
        const faults = await kindsOf(tampered);
        assert.ok(faults.length > 0, 'not found');
        assert.ok(
          faults.some((kind) => kinds.includes(kind)),
          `${faults.join(', ')} instead of ${kinds.join(' or ')}`,
        );
      }),
      { numRuns: RUNS },
    );
  };

  /** A character of the text of a record becomes another one. */
  const flipped = fc
    .tuple(index, fc.nat(), fc.integer({ min: 1, max: 94 }))
    .map(([which, where, by]) => {
      const text = JSON.stringify(at(which));
      const place = where % text.length;
      const code = 33 + ((text.charCodeAt(place) - 33 + by) % 94);
      return { which, text: text.slice(0, place) + String.fromCharCode(code) + text.slice(place + 1) };
    })
    .filter(({ text, which }) => isJson(text) && JSON.stringify(JSON.parse(text)) !== JSON.stringify(at(which)))
    .map(({ which, text }) => withRecords(good.records.with(which, JSON.parse(text))));
  test(
    'a changed character',
    found(flipped, ['changed', 'malformed', 'missing', 'reordered', 'inserted', 'not_opened']),
  );

  const removed = fc
    .tuple(fc.integer({ min: 0, max: good.records.length - 2 }), fc.integer({ min: 1, max: 4 }))
    .map(([from, count]) => withRecords(good.records.toSpliced(from, Math.min(count, good.records.length - 1 - from))));
  test('removed records', found(removed, ['missing']));

  const cut = fc
    .integer({ min: 1, max: good.records.length })
    .map((count) => withRecords(good.records.slice(0, -count)));
  test('a cut tail', found(cut, ['truncated']));

  const moved = fc
    .tuple(index, index)
    .filter(([from, to]) => from !== to)
    .map(([from, to]) => withRecords(good.records.toSpliced(from, 1).toSpliced(to, 0, at(from))));
  test('moved records', found(moved, ['reordered']));

  const doubled = fc
    .tuple(index, index)
    .map(([which, where]) => withRecords(good.records.toSpliced(where, 0, at(which))));
  test('a record twice', found(doubled, ['inserted', 'reordered']));

  const foreign = fc.tuple(index, fc.boolean()).map(([which, instead]) => {
    const record = other.records[which];
    return withRecords(
      instead ? good.records.with(which, record ?? at(which)) : good.records.toSpliced(which, 0, record ?? at(which)),
    );
  });
  // Records that say nothing of their session may be equal in both; their hashes never are.
  test("another session's record", found(foreign, ['inserted', 'reordered', 'changed', 'wrong_session']));

  const rewritten = fc.tuple(index, fc.string({ minLength: 1 })).map(([which, reason]) => {
    const bodies = good.records.map(({ body }) => body);
    return withRecords(
      rechain(bodies.toSpliced(which + 1, 0, { kind: 'refused', envelope_hash: 'a'.repeat(64), reason })),
    );
  });
  test('a chain written anew, with every hash right', found(rewritten, ['inserted']));

  const renamed = fc.tuple(index, fc.string({ minLength: 1 })).map(([which, text]) => {
    const bodies = good.records.map(({ body }) => body);
    return withRecords(rechain(bodies.with(which, { kind: 'closed', reason: text })));
  });
  test('a record replaced and all after it hashed again', found(renamed, ['changed', 'not_opened']));

  const signature = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 63 })).map(([where, by]) => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The last character of each part holds spare bits, which some readers skip.
    const places = [...good.head].flatMap((char, place) =>
      char === '.' || [undefined, '.'].includes(good.head[place + 1]) ? [] : [place],
    );
    const place = places[where % places.length] ?? 0;
    const char = alphabet[(alphabet.indexOf(good.head[place] ?? 'A') + by) % 64] ?? 'A';
    return { ...good, head: good.head.slice(0, place) + char + good.head.slice(place + 1) };
  });
  test('a changed head', found(signature, ['bad_head']));
});

describe('a head', () => {
  const last = at(good.records.length - 1);
  const rows: readonly [string, Partial<AuditExport>, FaultKind][] = [
    ["of a stranger's key", { head: headOf(last, stranger) }, 'bad_head'],
    ['that claims the key of the node', { head: headOf(last, { ...stranger, jwk: node.jwk }) }, 'bad_head'],
    ['of another type', { head: headOf(last, node, 'session-1', { typ: 'JWT' }) }, 'bad_head'],
    ['that needs no key', { head: headOf(last, node, 'session-1', { alg: 'none' }) }, 'bad_head'],
    ['of another session', { head: headOf(last, node, 'session-2') }, 'wrong_session'],
    ['of an earlier record', { head: headOf(at(3), node) }, 'inserted'],
    ['that is none', { head: 'x' }, 'bad_head'],
  ];
  for (const [title, changed, kind] of rows)
    test(`${title}: ${kind}`, async () => assert.ok((await kindsOf({ ...good, ...changed })).includes(kind)));
});

describe('an export', () => {
  const rows: readonly [string, unknown, FaultKind][] = [
    ['of nothing', null, 'malformed'],
    ['of another format', { ...good, format: 'svc-audit/v2' }, 'malformed'],
    ['with more in it', { ...good, more: 1 }, 'malformed'],
    ['with a record that is none', withRecords([null, ...good.records]), 'malformed'],
    ['with more in a record', withRecords(good.records.with(1, { ...at(1), more: 1 } as AuditRecord)), 'malformed'],
    ['without records', withRecords([]), 'truncated'],
    ['under another session', { ...good, session_id: 'session-2' }, 'wrong_session'],
    ['under another tenant', { ...good, tenant: 'other' }, 'wrong_session'],
    ['without an opening', exportOf(rechain(good.records.slice(1).map(({ body }) => body)), node), 'not_opened'],
    [
      'that was opened twice',
      exportOf(rechain([at(0).body, ...good.records.map(({ body }) => body)]), node),
      'inserted',
    ],
    [
      'of an attested session without a key',
      exportOf(chainOf(1, 'session-1', { public_key: null }), node),
      'wrong_key',
    ],
    ['of an own session with a key', exportOf(chainOf(1, 'session-1', { source: 'inner_loop' }), node), 'wrong_key'],
    [
      'nested without end',
      withRecords(good.records.with(1, { ...at(1), body: nested(50_000) } as AuditRecord)),
      'changed',
    ],
  ];
  for (const [title, exported, kind] of rows)
    test(`${title}: ${kind}`, async () => {
      const kinds = await kindsOf(exported);
      assert.ok(kinds.includes(kind), kinds.join(', '));
    });
});

test('a fault names the record it was found at', async () => {
  const { faults } = await verifyAudit(withRecords(good.records.toSpliced(4, 2)), jwks);
  assert.deepEqual(faults, [{ sequence: 7, kind: 'missing', message: 'records 5 to 6 are missing before it' }]);
});

function nested(depth: number): unknown {
  let value: unknown = null;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
