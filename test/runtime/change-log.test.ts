import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../runtime/clock.ts';
import { ChangeLog, type ChangePosition } from '../../runtime/documents/change-log.ts';
import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { systemRandom } from '../../runtime/random.ts';
import { DOCUMENT_STORES, type OpenedStore } from '../catalog/document-stores.ts';
import { overDocuments } from '../support/over-documents.ts';

const parts = { clock: systemClock, random: systemRandom, warn: assert.fail };

/** Documents whose next inserts are made, and then answered as if they had not been. */
const losingAnswers = (documents: Documents, losses: { left: number }): Documents =>
  overDocuments(documents, (real) => ({
    async insert(doc) {
      const made = await real.insert(doc);
      if (losses.left === 0) return made;
      losses.left -= 1;
      throw new SvcError('unavailable', 'the answer is lost');
    },
  }));

const isDone = (): boolean => false;

function isAway(thrown: unknown): boolean {
  if (thrown instanceof SvcError && thrown.code === 'unavailable') return true;
  throw thrown;
}

async function all(
  log: ChangeLog,
  tenant: string,
  from: ChangePosition,
): Promise<{ ids: string[]; numbers: number[] }> {
  const [ids, numbers]: [string[], number[]] = [[], []];
  for (let place = from; ; ) {
    const page = await log.read(tenant, place);
    assert.notEqual(page, 'gone');
    if (page === 'gone' || page.length === 0) return { ids, numbers };
    for (const one of page) {
      place = one.position;
      ids.push(one.change.id);
      numbers.push(place.n);
    }
  }
}

for (const store of DOCUMENT_STORES)
  describe(`the log of changes on ${store.name}`, { skip: store.skip }, () => {
    let opened: OpenedStore | undefined;
    let tenants = 0;
    const documents = (): Documents => opened?.documents ?? assert.fail('the store is not open');
    const open = (kept?: number) => ChangeLog.open({ ...parts, kept, documents: documents() });
    const newTenant = (): string => {
      tenants += 1;
      return `log-${tenants}`;
    };
    const change = (id: string) => ({ collection: 'executions', id });
    before(async () => {
      opened = await store.open();
    });
    after(() => opened?.stop());

    test('concurrent appends of several nodes have one order without gaps, and none is lost with its answer', async () => {
      const runs = store.name === 'SQLite' ? 20 : 4;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ node: fc.nat(2), size: fc.integer({ min: 1, max: 7 }), lost: fc.boolean() }), {
            minLength: 1,
            maxLength: 12,
          }),
          async (appends) => {
            const tenant = newTenant();
            const losses = { left: 0 };
            const bent = losingAnswers(documents(), losses);
            const logs = [await open(), await ChangeLog.open({ ...parts, documents: bent }), await open()];
            const start = await logs[0]?.end(tenant);
            const wanted = appends.map(({ size }, n) => Array.from({ length: size }, (_, index) => `c${n}.${index}`));
            await Promise.all(
              appends.map(async ({ node, lost }, n) => {
                if (lost && node === 1) losses.left += 1;
                const append = async (): Promise<void> => logs[node]?.append(tenant, (wanted[n] ?? []).map(change));
                // As a projector does: what failed is appended again.
                for (let failed = true; failed; ) failed = await append().then(isDone, isAway);
              }),
            );
            const { ids, numbers } = await all(await open(), tenant, start ?? assert.fail());
            assert.deepEqual(new Set(ids), new Set(wanted.flat()));
            assert.deepEqual(
              numbers,
              numbers.map((_, index) => index + 1),
            );
          },
        ),
        { numRuns: runs },
      );
    });

    test('a reader continues from any position of another, on any node', async () => {
      const [tenant, log, other] = [newTenant(), await open(), await open()];
      await log.append(tenant, ['a', 'b', 'c'].map(change));
      await other.append(tenant, ['d'].map(change));
      await log.append(tenant, ['e', 'f'].map(change));
      const page = await log.read(tenant, { n: 0, first: 0, mark: '' });
      if (page === 'gone') assert.fail();
      for (const [index, { position }] of page.entries())
        assert.deepEqual((await all(other, tenant, position)).ids, ['a', 'b', 'c', 'd', 'e', 'f'].slice(index + 1));
    });

    test('a position whose changes were removed is gone, and one that still exists is not', async () => {
      const [tenant, log] = [newTenant(), await open(20)];
      const places: ChangePosition[] = [];
      for (let n = 0; n < 60; n += 1) {
        await log.append(tenant, [change(`c${n}`)]);
        places.push(await log.end(tenant));
      }
      const [early, late] = [places[5], places[50]];
      if (early === undefined || late === undefined) assert.fail();
      assert.equal(await log.read(tenant, early), 'gone');
      assert.equal(await log.read(tenant, { n: 0, first: 0, mark: '' }), 'gone');
      assert.equal((await all(log, tenant, late)).ids.length, 9);
    });

    test('a position in documents that were restored is gone, also when its number was given again', async () => {
      const [tenant, log] = [newTenant(), await open()];
      await log.append(tenant, [change('a'), change('b')]);
      const place = await log.end(tenant);
      const changes = await documents().collection({ name: 'changes', unique: [], indexes: [] });
      await changes.deleteMany({ tenant });
      const later = await open();
      assert.equal(await later.read(tenant, place), 'gone');
      await later.append(tenant, [change('c'), change('d'), change('e')]);
      assert.equal(await later.read(tenant, place), 'gone');
    });

    test('one tenant reads nothing of another', async () => {
      const [tenant, other, log] = [newTenant(), newTenant(), await open()];
      await log.append(tenant, [change('a')]);
      assert.deepEqual(await log.read(other, { n: 0, first: 0, mark: '' }), []);
    });
  });
