import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { AGENTS } from '../../../catalog/agent-record.ts';
import type { CatalogReader } from '../../../catalog/api.ts';
import { createBuiltIns } from '../../../catalog/built-in/built-ins.ts';
import type { CatalogRecord } from '../../../catalog/store/record.ts';
import { systemClock } from '../../../runtime/clock.ts';
import type { Documents } from '../../../runtime/documents.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { SYSTEM_TENANT } from '../../../runtime/identity.ts';
import { DOCUMENT_STORES, openSqlite } from '../document-stores.ts';
import { admin, agentYaml, operator, type SearchNode, searchNode, workflowYaml } from './search-node.ts';

const ada: CatalogReader = { tenant: 'acme', subject: 'ada' };
const ben: CatalogReader = { tenant: 'acme', subject: 'ben' };
const eve: CatalogReader = { tenant: 'other', subject: 'eve' };
const inAcme = admin('acme');

const namesOf = (hits: readonly { readonly name: string }[]): string[] => hits.map(({ name }) => name).sort();

for (const { name: storeName, skip, open } of DOCUMENT_STORES) {
  describe(`search over the catalog, on ${storeName}`, { skip }, () => {
    let documents: Documents;
    let stop: () => Promise<void>;
    let one: SearchNode;
    let two: SearchNode;
    before(async () => {
      ({ documents, stop } = await open());
      one = await searchNode(documents);
      two = await searchNode(documents);
    });
    after(() => stop());

    const deploy = async (yaml: string, options: { scope?: 'user' | 'tenant' | 'global'; by?: typeof inAcme } = {}) => {
      const { by = inAcme, ...scope } = options;
      return (await one.agents.deploy(by, yaml, { force: true, ...scope })).agent_id;
    };
    const find = async (node: SearchNode, reader: CatalogReader, query: string) =>
      namesOf(await node.search.agents(reader, { query }));

    it('finds every agent that was deployed before the search, on any node, at the first search and later', async () => {
      await deploy(agentYaml('basalt-cutter', 'Cuts basalt'));
      assert.deepEqual(await find(one, ada, 'basalt'), ['basalt-cutter']);
      assert.deepEqual(await find(two, ada, 'basalt'), ['basalt-cutter']);
      await deploy(agentYaml('basalt-polisher', 'Polishes stone'));
      assert.deepEqual(await find(two, ada, 'basalt'), ['basalt-cutter', 'basalt-polisher']);
    });

    it('finds 50 agents that are deployed while others search, each as soon as its deploy was answered', async () => {
      await Promise.all(
        Array.from({ length: 50 }, async (_, at) => {
          await deploy(agentYaml(`granite-${at}`, `number${at}x`));
          assert.deepEqual(await find(two, ada, `number${at}x`), [`granite-${at}`]);
        }),
      );
      const all = await two.search.agents(ada, { query: 'granite', limit: 100 });
      assert.equal(all.length, 50);
    });

    it('finds nothing by the text of deleted, archived or older versions', async () => {
      const id = await deploy(agentYaml('marble-one', 'Carves feldspar'));
      const other = await deploy(agentYaml('marble-two', 'Carves feldspar'));
      assert.deepEqual(await find(two, ada, 'feldspar'), ['marble-one', 'marble-two']);
      await one.agents.delete(inAcme, id);
      await one.agents.setStatus(inAcme, other, 'archived');
      assert.deepEqual(await find(two, ada, 'feldspar'), []);
      const archived = await two.search.agents(ada, { query: 'feldspar', status: 'archived' });
      assert.deepEqual(namesOf(archived), ['marble-two']);
      await one.agents.setStatus(inAcme, other, 'paused');
      assert.deepEqual(await find(two, ada, 'feldspar'), ['marble-two']);
      assert.deepEqual(await two.search.agents(ada, { query: 'feldspar', status: 'deployed' }), []);
      await deploy(agentYaml('marble-two', 'Polishes obsidian', { version: '2.0.0' }));
      assert.deepEqual(await find(two, ada, 'feldspar'), []);
      const [hit] = await two.search.agents(ada, { query: 'obsidian' });
      assert.equal(hit?.version, '2.0.0');
    });

    it('reads the instruction, labels and camelCase of a name, and filters by labels', async () => {
      await deploy(agentYaml('slate-a', 'x', { labels: 'team: quarry', instruction: 'Split the amethyst with care' }));
      await deploy(agentYaml('slate-b', 'x', { labels: 'team: yard' }));
      assert.deepEqual(await find(one, ada, 'amethyst'), ['slate-a']);
      assert.deepEqual(await find(one, ada, 'quarry'), ['slate-a']);
      const query = 'slate';
      assert.deepEqual(namesOf(await one.search.agents(ada, { query, labels: { team: 'yard' } })), ['slate-b']);
      assert.deepEqual(await one.search.agents(ada, { query, labels: { team: 'yard', tier: 'gold' } }), []);
    });

    it('shows a reader its own, its tenant’s and global ones, and what moves only where it is', async () => {
      const own = await deploy(agentYaml('opal-own', 'x'), { scope: 'user', by: admin('acme', 'ada') });
      await deploy(agentYaml('opal-tenant', 'x'));
      const all = await deploy(agentYaml('opal-all', 'x'), { scope: 'global', by: operator() });
      await deploy(agentYaml('opal-system', 'x'), { by: operator() });
      assert.deepEqual(await find(two, ada, 'opal'), ['opal-all', 'opal-own', 'opal-tenant']);
      assert.deepEqual(await find(two, ben, 'opal'), ['opal-all', 'opal-tenant']);
      assert.deepEqual(await find(two, { tenant: 'acme' }, 'opal'), ['opal-all', 'opal-tenant']);
      assert.deepEqual(await find(two, eve, 'opal'), ['opal-all']);
      assert.deepEqual(await find(two, { tenant: SYSTEM_TENANT }, 'opal'), ['opal-all', 'opal-system']);
      const near = await two.search.agents(ada, { query: 'opal', includePlatformTemplates: false });
      assert.deepEqual(namesOf(near), ['opal-own', 'opal-tenant']);
      await one.agents.promote(inAcme, own, 'tenant');
      assert.deepEqual(await find(two, ben, 'opal'), ['opal-all', 'opal-own', 'opal-tenant']);
      await one.agents.demote(operator('acme'), all, 'tenant');
      assert.deepEqual(await find(two, eve, 'opal'), []);
      assert.deepEqual(await find(two, ben, 'opal'), ['opal-all', 'opal-own', 'opal-tenant']);
    });

    it('finds workflows the same way, by the prompts of their states too', async () => {
      const { workflow_id } = await one.workflows.deploy(
        inAcme,
        workflowYaml('topaz', 'Sorts gems', 'Is it citrine?'),
        {
          force: false,
        },
      );
      const [hit] = await two.search.workflows(ada, { query: 'citrine' });
      assert.deepEqual([hit?.id, hit?.name, hit?.version], [workflow_id, 'topaz', '1.0.0']);
      assert.deepEqual(await two.search.workflows(eve, { query: 'citrine' }), []);
      assert.deepEqual(await two.search.agents(ada, { query: 'citrine' }), []);
    });

    it('finds an agent whose index entry a crash prevented, once the whole catalog is compared', async () => {
      let shiftMs = 0;
      const clock = { ...systemClock, monotonic: () => performance.now() + shiftMs };
      const node = await searchNode(documents, { clock });
      assert.deepEqual(await find(node, ada, 'tanzanite'), []);
      // As a node leaves it that was killed between its write of the record and its note of the change.
      const id = await deploy(agentYaml('pumice', 'x'));
      const records = await documents.collection<CatalogRecord>(AGENTS);
      const record = await records.get('acme', id);
      assert.ok(record);
      await records.insert({ ...record, id: randomUUID(), name: 'late-one', description: 'Finds tanzanite' });
      assert.deepEqual(await find(node, ada, 'tanzanite'), []);
      shiftMs = 301_000;
      // The comparison runs beside the searches.
      for (;;) if ((await find(node, ada, 'tanzanite')).length === 1) break;
    });
  });
}

describe('a search', () => {
  let node: SearchNode;
  let documents: Documents;
  let stop: () => Promise<void>;
  before(async () => {
    ({ documents, stop } = await openSqlite());
    node = await searchNode(documents, { builtIns: createBuiltIns() });
  });
  after(() => stop());

  it('finds what ships with the product, unless that is not wanted', async () => {
    const [judge] = await node.search.agents(eve, { query: 'code quality judge' });
    assert.equal(judge?.name, 'code-quality-judge');
    assert.equal(judge.labels['svc.dev/platform'], 'true');
    const [pipeline] = await node.search.workflows(eve, { query: 'intent pipeline' });
    assert.equal(pipeline?.name, 'svc-intent-pipeline');
    const none = await node.search.agents(eve, { query: 'code quality judge', includePlatformTemplates: false });
    assert.deepEqual(none, []);
  });

  const wrong = [
    [{ query: ' ' }, 'query'],
    [{ query: 'x'.repeat(5_000) }, 'query'],
    [{ query: 'x', limit: 0 }, 'limit'],
    [{ query: 'x', limit: 101 }, 'limit'],
    [{ query: 'x', limit: 1.5 }, 'limit'],
    [{ query: 'x', minScore: 1.1 }, 'min_score'],
    [{ query: 'x', minScore: Number.NaN }, 'min_score'],
    [{ query: 'x', status: 'arriving' }, 'status'],
  ] as const;
  for (const [request, field] of wrong) {
    it(`refuses ${JSON.stringify(request).slice(0, 50)} and names ${field}`, async () => {
      await assert.rejects(node.search.agents(ada, request), (thrown: unknown) => {
        assert.ok(thrown instanceof SvcError);
        assert.equal(thrown.code, 'invalid_argument');
        assert.equal(thrown.field, field);
        return true;
      });
    });
  }

  it('answers `Cortex not configured` where memory is switched off', async () => {
    const off = await searchNode(documents, { cortex: { enabled: false } });
    for (const ask of [off.search.agents, off.search.workflows]) {
      await assert.rejects(ask(ada, { query: 'x' }), (thrown: unknown) => {
        assert.ok(thrown instanceof SvcError);
        assert.equal(thrown.code, 'cortex_not_configured');
        assert.equal(thrown.message, 'Cortex not configured');
        return true;
      });
    }
  });

  it('keeps no more in memory than it may, and finds everything all the same', async () => {
    const small = await searchNode(documents, { cortex: { search: { max_entries_in_memory: 3 } } });
    for (let at = 0; at < 8; at += 1) {
      await small.agents.deploy(admin(`tenant-${at}`), agentYaml(`beryl-${at}`, 'x'), { force: false });
    }
    for (let round = 0; round < 2; round += 1) {
      for (let at = 0; at < 8; at += 1) {
        const hits = await small.search.agents({ tenant: `tenant-${at}` }, { query: 'beryl' });
        assert.deepEqual(namesOf(hits), [`beryl-${at}`]);
      }
    }
  });

  it('does not index what a tenant has beyond the bound, and logs it once', async () => {
    const bounded = await searchNode(documents, { cortex: { search: { max_entries: 3 } } });
    for (let at = 0; at < 5; at += 1) {
      await bounded.agents.deploy(admin('many'), agentYaml(`jade-${at}`, 'x'), { force: false });
    }
    assert.equal((await bounded.search.agents({ tenant: 'many' }, { query: 'jade' })).length, 3);
    await bounded.search.agents({ tenant: 'many' }, { query: 'jade' });
    assert.deepEqual(bounded.warnings, [
      'search omits entries of tenant many: it has more than 3 (spec.cortex.search.max_entries)',
    ]);
  });
});
