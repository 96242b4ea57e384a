import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Collection } from '../../../runtime/documents.ts';
import type { EntryFilter, ListedEntry } from '../../../security/audit/api.ts';
import { type Block, blockOf } from '../../../security/audit/blocks.ts';
import { listEntries, recordsBehind } from '../../../security/audit/reader.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { sample } from '../../support/size.ts';
import { auditOf, auditStore, callOf } from './audit-store.ts';

const SUBJECTS = ['ada', 'bob', 'eve'];
const OPERATIONS = ['agents.delete', 'agents.deploy', 'secrets.put'];

/** Entries of two nodes, alone and in groups, and one of another tenant. */
async function fill(blocks: Collection<Block>): Promise<void> {
  const clock = new HandClock();
  const nodes = ['node-1', 'node-2'].map((node) => auditOf(blocks, { node, clock }).audit);
  for (let index = 0; index < 60; index += 1) {
    const audit = nodes[index % 2];
    const group = index % 5 === 0 ? 7 : 1;
    for (let one = 0; one < group; one += 1) {
      const subject = SUBJECTS[(index + one) % 3] ?? '';
      const caller = { kind: 'tenant_user', subject, tenant: 'acme', roles: [] } as const;
      const call = callOf(OPERATIONS[(index * 7 + one) % 3] ?? '', { caller: { ...caller, roles: [] } });
      await (await audit?.begin(call))?.end({ outcome: 'ok', target: `${index}-${one}` });
    }
    await clock.pass(1_000);
    // Each group is stored before the next one begins.
    await blocks.count({ tenant: 'acme' });
  }
  const foreign = { kind: 'tenant_user', subject: 'ada', tenant: 'globex', roles: [] } as const;
  await (await nodes[0]?.begin(callOf('agents.delete', { caller: { ...foreign, roles: [] } })))?.end({ outcome: 'ok' });
  await Promise.all(nodes.map((audit) => audit.close('the test ends', 5_000)));
}

async function pagesOf(blocks: Collection<Block>, filter: EntryFilter, limit: number): Promise<ListedEntry[]> {
  const all: ListedEntry[] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await listEntries(blocks, 'acme', filter, { limit, pageToken });
    assert.ok(page.items.length <= limit);
    assert.ok(page.items.length > 0 || pageToken === undefined, 'a token leads to an empty page');
    all.push(...page.items);
    pageToken = page.next_page_token;
    if (pageToken === undefined) return all;
  }
}

describe('the list of the audit', () => {
  it('has each entry of the tenant on one page, newest first, under every condition and page size', async () => {
    await using store = await auditStore();
    await fill(store.blocks);
    const all = await pagesOf(store.blocks, {}, 1_000);
    assert.equal(all.length, 48 + 12 * 7);
    assert.deepEqual(
      all.map(({ at }) => at),
      all
        .map(({ at }) => at)
        .sort()
        .reverse(),
    );
    const condition = fc.record(
      {
        subject: fc.constantFrom(...SUBJECTS, 'nobody'),
        operation: fc.constantFrom(...OPERATIONS),
        outcome: fc.constantFrom('ok', 'denied'),
        from: fc.constantFrom(...all.map(({ at }) => at)),
        to: fc.constantFrom(...all.map(({ at }) => at)),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(condition, fc.integer({ min: 1, max: 40 }), async (filter, limit) => {
        const expected = all.filter(
          (entry) =>
            (filter.subject === undefined || entry.subject === filter.subject) &&
            (filter.operation === undefined || entry.operation === filter.operation) &&
            (filter.outcome === undefined || entry.outcome === filter.outcome) &&
            (filter.from === undefined || entry.at >= filter.from) &&
            (filter.to === undefined || entry.at < filter.to),
        );
        assert.deepEqual(await pagesOf(store.blocks, filter as EntryFilter, limit), expected);
      }),
      { numRuns: sample({ normal: 30, long: 500 }) },
    );
  });

  it('continues after the page before, whatever was written since', async () => {
    await using store = await auditStore();
    await fill(store.blocks);
    const all = await pagesOf(store.blocks, {}, 1_000);
    const first = await listEntries(store.blocks, 'acme', {}, { limit: 10 });
    const { audit } = auditOf(store.blocks, { node: 'node-3' });
    await (await audit.begin(callOf('agents.delete'))).end({ outcome: 'ok' });
    await audit.close('the test ends', 5_000);
    const next = await listEntries(store.blocks, 'acme', {}, { limit: 10, pageToken: first.next_page_token });
    assert.deepEqual([...first.items, ...next.items], all.slice(0, 20));
    await assert.rejects(listEntries(store.blocks, 'globex', {}, { limit: 10, pageToken: first.next_page_token }), {
      code: 'invalid_argument',
    });
  });

  it('reads the records of a chain in order, a hundred blocks at a time', async () => {
    await using store = await auditStore();
    const { audit } = auditOf(store.blocks);
    for (let count = 0; count < 130; count += 1)
      await (await audit.begin(callOf('agents.delete'))).end({ outcome: 'ok' });
    await audit.close('the test ends', 5_000);
    const kept = await store.blocks.find({ tenant: 'acme', sort: [['last', 'asc']], limit: 1_000 });
    const records = kept.flatMap((block) => block.records);
    for (const { tenant, id } of kept) await store.blocks.delete(tenant, id);
    // Each record in a block of its own.
    const chain = { tenant: 'acme', node: 'node-1' };
    for (const record of records) await store.blocks.insert(blockOf({ ...chain, writer: 'w' }, [record]));
    let most = 0;
    const watched: Pick<Collection<Block>, 'find'> = {
      find(asked) {
        most = Math.max(most, asked.limit ?? Number.POSITIVE_INFINITY);
        return store.blocks.find(asked);
      },
    };
    const all = await recordsBehind(watched, { ...chain, after: 0, limit: 1_000 });
    assert.deepEqual(all, records);
    assert.deepEqual(await recordsBehind(watched, { ...chain, after: 7, limit: 3 }), all.slice(7, 10));
    assert.ok(most <= 100, `${most} blocks were read at once`);
  });
});
