import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { CHECKPOINT_TYPE, type EntryExport, type EntryRecord } from '../../../manifests/audit/entries.ts';
import type { FaultKind } from '../../../manifests/audit/links.ts';
import { verifyEntries } from '../../../manifests/audit/verify-entries.ts';
import { sample } from '../../support/size.ts';
import { signer } from './call-chains.ts';
import { type Chains, chainOf, entry, exportOf, linked, signed, stated, TENANT } from './entry-chains.ts';

const keyA = signer('a');
const keyB = signer('b');
const stranger = signer('stranger');
const jwks = { keys: [keyA.jwk, keyB.jwk] };
const chains = { a: chainOf('a', 6), b: chainOf('b', 3, 'b') };
const byB = stated('b', chains, keyB);
const statements = [stated('a', chains, keyA), byB];
const whole = exportOf(chains, statements);
const RUNS = { numRuns: sample({ normal: 50, long: 1_000 }) };

const kindsOf = async (exported: EntryExport): Promise<FaultKind[]> =>
  (await verifyEntries(exported, jwks)).faults.map(({ kind }) => kind);

const withA = (records: readonly EntryRecord[], said = statements): EntryExport =>
  exportOf({ ...chains, a: records }, said);

const indexOfA = fc.integer({ min: 0, max: chains.a.length - 1 });

describe('verification of the chains of operations', () => {
  test('finds nothing in what nodes wrote, and calls each chain open with the time of its head', async () => {
    const verdict = await verifyEntries(whole, jwks);
    assert.deepEqual(verdict, {
      ...{ valid: true, signature: 'good', tenant: TENANT, unknown_keys: 0, faults: [] },
      chains: [
        { node: 'a', records: 7, head_at: '2026-01-01T01:00:00.000Z', stated_by: ['a', 'b'], unsigned: 0 },
        { node: 'b', records: 4, head_at: '2026-01-01T01:00:00.000Z', stated_by: ['a', 'b'], unsigned: 0 },
      ],
    });
  });

  test('finds every changed member of every entry', async () => {
    const member = fc.constantFrom(
      'operation',
      'subject',
      'target',
      'outcome',
      'reason',
      'trace',
      'count',
      'begun',
      'at',
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), member, async (at, name) => {
        const changed = structuredClone(chains.a).map((record, index) => {
          if (index !== at) return record;
          if (name === 'at') return { ...record, at: '2026-02-02T00:00:00.000Z' };
          return { ...record, body: { ...record.body, [name]: name === 'outcome' ? 'denied' : 77 } };
        });
        const kinds = await kindsOf(withA(changed as EntryRecord[]));
        assert.ok(kinds.length > 0, `${name} of ${at}`);
      }),
      RUNS,
    );
  });

  test('finds a removed, a moved and a doubled entry', async () => {
    await fc.assert(
      fc.asyncProperty(indexOfA, indexOfA, fc.constantFrom('remove', 'move', 'double'), async (from, to, what) => {
        const records = [...chains.a];
        const [taken] = what === 'double' ? [records[from]] : records.splice(from, 1);
        assert.ok(taken !== undefined);
        if (what === 'move') fc.pre(from !== to);
        if (what !== 'remove') records.splice(to, 0, taken);
        assert.notDeepEqual(await kindsOf(withA(records)), []);
      }),
      RUNS,
    );
  });

  test('finds a cut tail by the statement of another node, although the own one was removed or signed again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), fc.boolean(), async (cut, again) => {
        const records = chains.a.slice(0, -cut);
        const own = again ? [stated('a', { a: records }, keyA)] : [];
        assert.deepEqual(await kindsOf(withA(records, [...own, byB])), ['truncated']);
      }),
      RUNS,
    );
  });

  test('finds a second history of a node that signs it with its own key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 0, max: 9 }), async (kept, more) => {
        const bodies = chains.a.slice(0, kept).map(({ body }) => body);
        const others = Array.from({ length: more }, (_one, index) => entry({ target: `other-${index}` }));
        const records = linked([...bodies, ...others]);
        fc.pre(records.length < chains.a.length || records[6]?.hash !== chains.a[6]?.hash);
        const kinds = await kindsOf(withA(records, [stated('a', { a: records }, keyA), byB]));
        assert.deepEqual(kinds, [records.length < chains.a.length ? 'truncated' : 'two_histories']);
      }),
      RUNS,
    );
  });

  test('finds a missing chain, and a chain of another node or tenant under its name', async () => {
    assert.deepEqual(await kindsOf(exportOf({ b: chains.b }, statements)), ['missing']);
    const kinds = await kindsOf(exportOf({ ...chains, a: chains.b }, [stated('b', { b: chains.b }, keyB)]));
    assert.deepEqual(kinds, ['wrong_chain']);
    assert.ok((await kindsOf({ ...whole, tenant: 'globex' })).includes('wrong_chain'));
  });

  test('a statement of an unknown key counts for nothing, and one that its key did not sign is a fault', async () => {
    const unknown = await verifyEntries(exportOf(chains, [...statements, stated('c', { a: [] }, stranger)]), jwks);
    assert.deepEqual([unknown.valid, unknown.unknown_keys], [true, 1]);
    assert.deepEqual(await kindsOf(exportOf(chains, [stated('a', chains, stranger)])), ['bad_head']);
    const forged = `${statements[0]?.split('.').slice(0, 2).join('.')}.${byB.split('.')[2]}`;
    assert.deepEqual(await kindsOf(exportOf(chains, [forged, byB])), ['bad_head']);
    assert.equal((await verifyEntries(whole, null)).signature, 'unchecked');
  });

  test('entries behind the newest statement are counted as not signed', async () => {
    const grown: Chains = { ...chains, a: linked([...chains.a.map(({ body }) => body), entry(), entry()]) };
    const {
      valid,
      chains: [a],
    } = await verifyEntries(exportOf(grown, statements), jwks);
    assert.deepEqual([valid, a?.unsigned], [true, 2]);
  });

  test('a signed checkpoint replaces a removed beginning, an unsigned one does not', async () => {
    const last = chains.a[2];
    assert.ok(last !== undefined);
    const place = {
      tenant: TENANT,
      node: 'a',
      sequence: last.sequence,
      hash: last.hash,
      signed_at: '2026-01-02T00:00:00.000Z',
    };
    const trimmed = (checkpoint: string | null): EntryExport => ({
      ...whole,
      chains: whole.chains.map((one) => (one.node === 'a' ? { ...one, checkpoint, records: chains.a.slice(3) } : one)),
    });
    assert.deepEqual(await kindsOf(trimmed(signed(place, CHECKPOINT_TYPE, keyB))), []);
    assert.ok((await kindsOf(trimmed(null))).includes('missing'));
    assert.ok((await kindsOf(trimmed(signed(place, CHECKPOINT_TYPE, stranger)))).includes('bad_head'));
    const other = signed({ ...place, hash: 'f'.repeat(64) }, CHECKPOINT_TYPE, keyB);
    assert.ok((await kindsOf(trimmed(other))).includes('inserted'));
  });

  test('never throws, whatever the file holds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        assert.equal((await verifyEntries(value, jwks)).valid, false);
        const inside = { ...whole, chains: [{ node: 'a', checkpoint: null, records: [value] }] };
        assert.equal((await verifyEntries(inside, jwks)).valid, false);
      }),
      RUNS,
    );
  });
});
