import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAgentCatalog } from '../../catalog/agent-catalog.ts';
import type { AgentCatalog, AgentSummary, CatalogFilter } from '../../catalog/api.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { DOCUMENT_STORES, type OpenedStore } from './document-stores.ts';

const identity = (tenant: string): Identity => ({
  ...{ kind: 'operator', subject: 'ann', tenant },
  ...{ roles: ['svc:admin', 'svc:operator'], tier: 'enterprise' },
});
const yaml = (name: string) => `apiVersion: svc.dev/v1
kind: Agent
metadata: {name: ${name}, version: "1.0.0"}
spec:
  task: {instruction: do it}
`;
const nameOf = (at: number) => `agent-${String(at).padStart(2, '0')}`;

for (const store of DOCUMENT_STORES)
  describe(`pages of a catalog on ${store.name}`, { skip: store.skip }, () => {
    let opened: OpenedStore | undefined;
    let catalog: AgentCatalog;
    let tenants = 0;
    const open = async (): Promise<AgentCatalog> => {
      if (opened === undefined) throw new Error('the store is not open');
      return createAgentCatalog({ documents: opened.documents, clock: systemClock, random: systemRandom });
    };
    const filled = async (count: number) => {
      tenants += 1;
      const owner = identity(`list-${tenants}`);
      for (let at = 0; at < count; at += 1) await catalog.deploy(owner, yaml(nameOf(at)), { force: false });
      return owner;
    };
    before(async () => {
      opened = await store.open();
      catalog = await open();
    });
    after(() => opened?.stop());

    test('a walk through the page tokens returns each agent once, in order, while agents are added, removed and moved to global', async () => {
      const owner = await filled(9);
      const names: string[] = [];
      let page = 0;
      for await (const some of pagesOf(catalog, owner, { scope: 'visible', limit: 2 })) {
        names.push(...some.map(({ name }) => name));
        if (page === 0) await catalog.deploy(owner, yaml('agent-000'), { force: false });
        if (page === 1) await catalog.delete(owner, (await catalog.get(owner, nameOf(1))).agent_id);
        if (page === 1) await catalog.promote(owner, nameOf(6), 'global');
        if (page === 2) await catalog.promote(owner, nameOf(2), 'global');
        page += 1;
      }
      const wanted = Array.from({ length: 9 }, (_, at) => nameOf(at));
      assert.deepEqual(
        names.filter((name) => name.startsWith('agent-')),
        wanted,
      );
      await catalog.demote(owner, nameOf(6), 'tenant');
      await catalog.demote(owner, nameOf(2), 'tenant');
    });

    test('the last page has no token, a full one neither', async () => {
      const owner = await filled(3);
      for (const limit of [4, 3]) assert.equal((await catalog.list(owner, { limit })).next_page_token, undefined);
      assert.equal((await catalog.list(owner, { limit: 2, skip: 1 })).next_page_token, undefined);
      const { items, next_page_token: pageToken = '' } = await catalog.list(owner, { limit: 2 });
      const rest = await catalog.list(owner, { limit: 1, pageToken });
      assert.deepEqual([items.length, rest.items.length, rest.next_page_token], [2, 1, undefined]);
    });

    test('a list shows every change at once, by whichever node it was made', async () => {
      const owner = await filled(3);
      const other = await open();
      const statuses = async (by: AgentCatalog) => (await by.list(owner)).items.map(({ status }) => status);
      for (const by of [catalog, other]) assert.deepEqual(await statuses(by), ['deployed', 'deployed', 'deployed']);
      await catalog.setStatus(owner, nameOf(1), 'paused');
      for (const by of [catalog, other]) assert.deepEqual(await statuses(by), ['deployed', 'paused', 'deployed']);
      await other.setStatus(owner, nameOf(1), 'deployed');
      await other.delete(owner, (await other.get(owner, nameOf(0))).agent_id);
      for (const by of [catalog, other]) assert.deepEqual(await statuses(by), ['deployed', 'deployed']);
      await catalog.promote(owner, nameOf(1), 'global');
      await catalog.demote(owner, nameOf(1), 'tenant');
      for (const by of [catalog, other]) assert.deepEqual(await statuses(by), ['deployed', 'deployed']);
    });

    test('a token of another list, of other conditions, of another tenant, damaged or beside skip is refused by name', async () => {
      const owner = await filled(2);
      const { next_page_token: pageToken = '' } = await catalog.list(owner, { limit: 1 });
      assert.equal((await catalog.list(owner, { limit: 1, pageToken })).items[0]?.name, nameOf(1));
      const refused = (reader: Identity, filter: CatalogFilter) =>
        assert.rejects(catalog.list(reader, filter), (thrown) => {
          assert.ok(thrown instanceof SvcError);
          assert.deepEqual([thrown.code, thrown.field], ['invalid_argument', 'page_token']);
          return true;
        });
      await refused(owner, { limit: 1, pageToken, scope: 'visible' });
      await refused(owner, { limit: 1, pageToken, status: 'paused' });
      await refused(owner, { limit: 1, pageToken, skip: 1 });
      await refused(identity('somebody-else'), { limit: 1, pageToken });
      for (const damaged of ['', 'x', '20', pageToken.slice(1), pageToken.slice(0, -6), 'a'.repeat(10_000)])
        await refused(owner, { limit: 1, pageToken: damaged });
    });
  });

async function* pagesOf(
  catalog: AgentCatalog,
  reader: Identity,
  filter: CatalogFilter,
): AsyncGenerator<AgentSummary[]> {
  for (let asked = filter; ; ) {
    const { items, next_page_token: pageToken } = await catalog.list(reader, asked);
    yield items;
    if (pageToken === undefined) return;
    asked = { ...filter, pageToken };
  }
}
