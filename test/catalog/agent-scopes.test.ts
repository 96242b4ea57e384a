import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { createAgentCatalog } from '../../catalog/agent-catalog.ts';
import { AGENT_EVENTS, AGENT_MANIFESTS, AGENTS } from '../../catalog/agent-record.ts';
import {
  AGENTS_WITHOUT_SCOPES,
  AgentsWithoutScopes,
  type AgentWithoutScope,
} from '../../catalog/agents-without-scopes.ts';
import { type AgentCatalog, type CatalogReader, requireStartable } from '../../catalog/api.ts';
import type { StoredEvent } from '../../catalog/store/event-log.ts';
import type { CatalogRecord } from '../../catalog/store/record.ts';
import type { ManifestRecord } from '../../catalog/store/stored-manifests.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Documents, Query } from '../../runtime/documents.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { overDocuments } from '../support/over-documents.ts';
import { refused } from '../support/refused.ts';
import { eachNth } from '../support/size.ts';
import { crashingDocuments } from './crashing-documents.ts';
import { DOCUMENT_STORES } from './document-stores.ts';

const person = (tenant: string, subject: string, roles: string[]): Identity => ({
  ...{ kind: 'tenant_user', subject, tenant, roles, tier: 'free' },
});
const ada = person('acme', 'ada', ['svc:admin']);
const ben = person('acme', 'ben', []);
const operator: Identity = { ...person(SYSTEM_TENANT, 'op', ['svc:operator']), kind: 'operator' };
const inAcme: Identity = { ...operator, tenant: 'acme' };
const stranger: CatalogReader = { tenant: 'other', subject: 'eve' };
const PAGE = { limit: 100, offset: 0 };

const yaml = (name: string, version: string, text = 'x') => `apiVersion: svc.dev/v1
kind: Agent
metadata: {name: ${name}, version: "${version}", description: text of ${version}}
spec: {task: {instruction: ${text}}}
`;

for (const store of DOCUMENT_STORES)
  describe(`scopes and status of agents on ${store.name}`, { skip: store.skip }, () => {
    const it = eachNth(store.nth);
    let documents: Documents;
    let stop: () => Promise<void>;
    let catalog: AgentCatalog;
    let running = 0;
    let count = 0;
    const openCatalog = (on: Documents = documents) =>
      createAgentCatalog({
        ...{ documents: on, clock: systemClock, random: systemRandom },
        inUse: { agent: () => Promise.resolve(running) },
      });
    const deploy = (identity: Identity, text: string, scope?: 'user' | 'tenant' | 'global') =>
      catalog.deploy(identity, text, { force: false, ...(scope === undefined ? {} : { scope }) });
    const fresh = () => {
      count += 1;
      return `agent-${count}`;
    };
    const eventsOf = async (reader: CatalogReader, id: string) =>
      (await catalog.logs(reader, id, PAGE)).events.map(({ sequence, event_type }) => `${sequence} ${event_type}`);
    before(async () => {
      ({ documents, stop } = await store.open());
      catalog = await openCatalog();
    });
    after(() => stop());

    it('finds the own agent before the tenant’s, and that before a global one', async () => {
      const name = fresh();
      const global = await deploy(operator, yaml(name, '1.0.0'), 'global');
      const tenant = await deploy(ada, yaml(name, '2.0.0'));
      const user = await deploy(ben, yaml(name, '3.0.0'), 'user');
      const seen = async (by: CatalogReader) => (await catalog.get(by, name)).scope;
      assert.deepEqual(
        [await seen(ben), await seen(ada), await seen({ tenant: 'acme' }), await seen(stranger)],
        ['user', 'tenant', 'tenant', 'global'],
      );
      assert.equal(
        (await catalog.get(ben, name, '1.0.0')).agent_id,
        global.agent_id,
        'the nearest that has the version',
      );
      assert.equal((await catalog.lookup(ben, name)).owner, 'ben');
      for (const id of [tenant.agent_id, user.agent_id])
        await assert.rejects(catalog.get(stranger, id), refused('not_found', /^agent not found$/));
      await assert.rejects(catalog.get(ada, user.agent_id), refused('not_found'));
      const visible = (await catalog.list(ben, { scope: 'visible' })).items.filter((one) => one.name === name);
      assert.deepEqual(visible.map(({ scope }) => scope).sort(), ['global', 'tenant', 'user']);
      assert.equal((await catalog.list(ben)).items.filter((one) => one.name === name).length, 2);
    });

    it('answers a move as unknown when the agent was deleted, though another has its name there by now', async () => {
      const first = await deploy(ada, yaml('overtaken', '1.0.0'), 'tenant');
      const meanwhile: (() => Promise<void>)[] = [];
      const slow = overDocuments(documents, (real) => ({
        async find(query) {
          // The namespace that it moves to is checked.
          const isIt = query.where?.scope === 'user' && query.where.name === 'overtaken';
          if (isIt) await meanwhile.splice(0)[0]?.();
          return real.find(query);
        },
      }));
      const other = await openCatalog(slow);
      meanwhile.push(async () => {
        await catalog.delete(ada, first.agent_id);
        await deploy(ada, yaml('overtaken', '1.0.0'), 'user');
      });
      await assert.rejects(other.demote(ada, first.agent_id, 'user', 'ada'), refused('not_found'));
    });

    it('lets operators alone deploy global agents, and administrators promote in their tenant', async () => {
      const name = fresh();
      for (const who of [ada, ben, { ...ada, kind: 'service_account' as const }])
        await assert.rejects(deploy(who, yaml(name, '1.0.0'), 'global'), refused('forbidden', /global agents/));
      const { agent_id } = await deploy(ben, yaml(name, '1.0.0'), 'user');
      await assert.rejects(catalog.promote(ben, agent_id, 'tenant'), refused('forbidden'));
      await assert.rejects(catalog.promote(ada, agent_id, 'global'), refused('forbidden'));
      const up = await catalog.promote(ada, agent_id, 'tenant');
      assert.deepEqual([up.agent_id, up.scope, up.owner], [agent_id, 'tenant', null]);
      const back = await catalog.demote(ada, name, 'user', 'ben');
      assert.deepEqual([back.scope, back.owner], ['user', 'ben']);
      await assert.rejects(
        catalog.demote(ada, agent_id, 'user', 'ben'),
        refused('failed_precondition', /in scope user/),
      );
    });

    it('pauses, archives and resumes with one event each, however often it is asked', async () => {
      const name = fresh();
      const { agent_id } = await deploy(ada, yaml(name, '1.0.0'));
      for (const status of ['paused', 'paused', 'archived', 'archived', 'deployed', 'deployed'] as const)
        assert.equal((await catalog.setStatus(ada, name, status)).status, status);
      const { events } = await catalog.logs(ben, agent_id, PAGE);
      assert.deepEqual(
        events.slice(1).map(({ event_type, payload }) => [event_type, payload.previous_status, payload.by]),
        [
          ['AgentPaused', 'deployed', 'ada'],
          ['AgentArchived', 'paused', 'ada'],
          ['AgentResumed', 'archived', 'ada'],
        ],
      );
      for (const { payload, recorded_at } of events.slice(1)) assert.equal(payload.changed_at, recorded_at);
    });

    it('keeps a paused agent paused when a newer version comes and when it moves', async () => {
      const name = fresh();
      const { agent_id } = await deploy(ada, yaml(name, '1.0.0'));
      await catalog.setStatus(ada, agent_id, 'paused');
      await deploy(ada, yaml(name, '2.0.0'));
      assert.equal((await catalog.get(ada, name)).status, 'paused');
      assert.equal((await catalog.promote(inAcme, name, 'global')).status, 'paused');
      const moved = await catalog.get(stranger, name);
      assert.deepEqual([moved.status, moved.version], ['paused', '2.0.0']);
      assert.equal((await catalog.demote(inAcme, name, 'tenant')).status, 'paused');
      assert.equal((await catalog.get(ada, name)).status, 'paused');
    });

    it('lists archived agents only when asked for, and starts neither them nor paused ones', async () => {
      const tenant = `status-${store.name.toLowerCase()}`;
      const owner = person(tenant, 'ada', ['svc:admin']);
      for (const name of ['on', 'off', 'gone']) await deploy(owner, yaml(name, '1.0.0'));
      await catalog.setStatus(owner, 'off', 'paused');
      await catalog.setStatus(owner, 'gone', 'archived');
      const names = async (status?: 'deployed' | 'paused' | 'archived') =>
        (await catalog.list(owner, status === undefined ? {} : { status })).items.map(({ name }) => name);
      assert.deepEqual(
        [await names(), await names('deployed'), await names('paused'), await names('archived')],
        [['off', 'on'], ['on'], ['off'], ['gone']],
      );
      requireStartable(await catalog.get(owner, 'on'));
      for (const [name, status] of [
        ['off', /off is paused/],
        ['gone', /gone is archived/],
      ] as const) {
        const found = await catalog.get(owner, name);
        assert.throws(() => requireStartable(found), refused('failed_precondition', status));
      }
    });

    it('deletes nothing that runs unless forced', async () => {
      const name = fresh();
      const { agent_id } = await deploy(ada, yaml(name, '1.0.0'));
      running = 3;
      await assert.rejects(catalog.delete(ada, agent_id), refused('failed_precondition', /3 executions are running/));
      assert.equal((await catalog.get(ada, name)).agent_id, agent_id);
      await catalog.delete(ada, agent_id, { force: true });
      running = 0;
      await assert.rejects(catalog.get(ada, name), refused('not_found'));
    });

    it('keeps one log through moves between tenants, for those who see the agent', async () => {
      const name = fresh();
      const { agent_id } = await deploy(ben, yaml(name, '1.0.0'), 'user');
      await assert.rejects(catalog.logs(ada, agent_id, PAGE), refused('not_found', /^agent not found$/));
      await catalog.promote({ ...ada, subject: 'ada' }, agent_id, 'tenant');
      await catalog.promote(inAcme, agent_id, 'global');
      await catalog.setStatus(operator, agent_id, 'paused');
      const whole = ['1 AgentDeployed', '2 AgentScopeChanged', '3 AgentScopeChanged', '4 AgentPaused'];
      assert.deepEqual(await eventsOf(ada, agent_id), whole);
      assert.deepEqual(await eventsOf(stranger, agent_id), whole.slice(2), 'outside its tenant: since it is global');
      await catalog.demote(inAcme, agent_id, 'tenant');
      await assert.rejects(catalog.logs(stranger, agent_id, PAGE), refused('not_found'));
      await catalog.demote(ada, agent_id, 'user', 'ben');
      await catalog.delete(ben, agent_id);
      assert.deepEqual(await eventsOf(ben, agent_id), [
        ...whole,
        ...['5 AgentScopeChanged', '6 AgentScopeChanged', '7 AgentDeleted'],
      ]);
      await assert.rejects(catalog.logs(ada, agent_id, PAGE), refused('not_found'), 'it was another user’s at the end');
      const page = await catalog.logs(ben, agent_id, { limit: 2, offset: 3 });
      assert.deepEqual([page.total, page.events.map(({ sequence }) => sequence)], [7, [4, 5]]);
    });

    it('repairs a promotion that crashed after any of its writes', async () => {
      for (let writes = 0, crashed = true; crashed; writes += 1) {
        const name = fresh();
        const { agent_id } = await deploy(ada, yaml(name, '1.0.0'));
        await catalog.setStatus(ada, agent_id, 'paused');
        const dying = await openCatalog(crashingDocuments(documents, writes));
        crashed = await dying.promote(inAcme, name, 'global').then(
          () => false,
          () => true,
        );
        const one = await openCatalog();
        const found = await one.get(ada, name);
        assert.deepEqual([found.agent_id, found.status], [agent_id, 'paused'], `after ${writes} writes`);
        const listed = (await one.list(ada, { scope: 'visible' })).items.filter((entry) => entry.name === name);
        assert.deepEqual(
          listed.map((entry) => entry.agent_id),
          [agent_id],
          `after ${writes} writes`,
        );
        const numbers = (await one.logs(ada, agent_id, PAGE)).events.map(({ sequence }) => sequence);
        assert.deepEqual(
          numbers,
          numbers.map((_, index) => index + 1),
          `after ${writes} writes`,
        );
      }
    });

    it('loses no event of a deletion that crashed after any of its writes', async () => {
      for (let writes = 0, crashed = true; crashed; writes += 1) {
        const name = fresh();
        const { agent_id } = await deploy(ada, yaml(name, '1.0.0'));
        const dying = await openCatalog(crashingDocuments(documents, writes));
        crashed = await dying.delete(ada, agent_id).then(
          () => false,
          () => true,
        );
        const one = await openCatalog();
        const isGone = await one.get(ada, agent_id).then(
          () => false,
          () => true,
        );
        const { events } = await one.logs(ada, agent_id, PAGE);
        assert.equal(events.at(-1)?.event_type, isGone ? 'AgentDeleted' : 'AgentDeployed', `after ${writes} writes`);
        await one.deploy(ada, yaml(name, '1.0.0'), { force: true });
        assert.equal((await one.get(ada, name)).agent_id !== agent_id, isGone);
      }
    });

    it('takes over agents of a store without scopes, once, from several nodes at a time', async () => {
      const old = await documents.collection<AgentWithoutScope>(AGENTS_WITHOUT_SCOPES);
      const texts = await documents.collection<ManifestRecord>(AGENT_MANIFESTS);
      const events = await documents.collection<StoredEvent & { agent_id: string }>(AGENT_EVENTS);
      const ids = Array.from({ length: 25 }, () => systemRandom.uuid());
      const tenant = `old-${store.name.toLowerCase()}`;
      for (const [index, id] of ids.entries()) {
        const manifest = { tenant, id: `text-${index}`, version: 1, manifest_yaml: yaml(`old-${index}`, '1.0.0') };
        await texts.insert(manifest);
        const event = { sequence: 1, event_type: 'AgentDeployed', payload: { by: 'op-1' }, recorded_at: '2026-01-01' };
        await events.insert({ ...event, tenant, id: `${id}:1`, version: 1, agent_id: id });
        await old.insert({
          ...{ tenant, id, version: 1, name: `old-${index}`, description: 'old', labels: {}, deleted: index === 24 },
          ...{ versions: [{ version: '1.0.0', manifest_id: `text-${index}`, deployed_at: '2026-01-01' }] },
          last_event: event,
        });
      }
      const admin = person(tenant, 'ada', ['svc:admin']);
      const catalogs = await Promise.all([openCatalog(), openCatalog(), openCatalog()]);
      for (const one of catalogs) assert.equal((await one.list(admin)).items.length, 24);
      assert.equal(await old.count({ tenant }), 25, 'a node of an older version still finds them');
      const takers = await Promise.all(catalogs.map(() => AgentsWithoutScopes.open(documents)));
      await Promise.all(takers.map((taker) => taker.take()));
      for (const one of catalogs) assert.equal((await one.list(admin)).items.length, 24);
      assert.equal(await old.count({ tenant }), 0);
      const [id = ''] = ids;
      const found = await catalog.get(admin, 'old-0');
      assert.deepEqual([found.agent_id, found.scope, found.owner, found.status], [id, 'tenant', null, 'deployed']);
      assert.deepEqual(await catalog.deploy(admin, yaml('old-0', '2.0.0'), { force: false }), {
        agent_id: id,
        deployed: true,
      });
      assert.deepEqual(await eventsOf(admin, id), ['1 AgentDeployed', '2 AgentDeployed']);
      await deploy(admin, yaml('old-0', '3.0.0'), 'user');
      assert.equal((await catalog.get(admin, 'old-0')).scope, 'user', 'a user may have the same name now');
    });

    it('moves an agent once, whatever another node does between its insertion and the removal of the old record', async () => {
      const old = await documents.collection<AgentWithoutScope>(AGENTS_WITHOUT_SCOPES);
      const agents = await documents.collection<CatalogRecord>(AGENTS);
      const texts = await documents.collection<ManifestRecord>(AGENT_MANIFESTS);
      const tenant = `between-${store.name.toLowerCase()}`;
      const admin = person(tenant, 'ada', ['svc:admin']);
      const add = async (name: string) => {
        const id = systemRandom.uuid();
        await texts.insert({ tenant, id: `text-${name}`, version: 1, manifest_yaml: yaml(name, '1.0.0') });
        await old.insert({
          ...{ tenant, id, version: 1, name, description: 'old', labels: {}, deleted: false },
          ...{ versions: [{ version: '1.0.0', manifest_id: `text-${name}`, deployed_at: '2026-01-01' }] },
          last_event: { sequence: 1, event_type: 'AgentDeployed', payload: {}, recorded_at: '2026-01-01' },
        });
        return id;
      };
      const take = async (view: Pick<typeof agents, 'get' | 'delete' | 'count' | 'insert'>) =>
        (await AgentsWithoutScopes.open(documents, view)).take();
      /** This node's view: another one acts right before or after its insertion. */
      const interruptedBy = (step: { before?: () => Promise<unknown>; after?: () => Promise<unknown> }) => ({
        get: (of: string, id: string) => agents.get(of, id),
        delete: (of: string, id: string) => agents.delete(of, id),
        count: (query: Query) => agents.count(query),
        insert: async (record: CatalogRecord) => {
          if (record.tenant === tenant) await step.before?.();
          const inserted = await agents.insert(record);
          if (record.tenant === tenant) await step.after?.();
          return inserted;
        },
      });
      const moved = await add('moved');
      await take(interruptedBy({ after: () => take(agents) }));
      assert.equal((await agents.get(tenant, moved))?.name, 'moved');
      assert.equal((await catalog.get(admin, 'moved')).agent_id, moved);
      const deleted = await add('deleted');
      const before = async () => {
        await take(agents);
        await catalog.delete(admin, deleted);
      };
      await take(interruptedBy({ before }));
      assert.equal(await agents.get(tenant, deleted), null, 'what a user deleted meanwhile does not come back');
      assert.equal(await old.count({ tenant }), 0);
    });

    it('finds agents that an older node without scopes deploys, and a deletion here removes them there', async () => {
      const old = await documents.collection<AgentWithoutScope>(AGENTS_WITHOUT_SCOPES);
      const texts = await documents.collection<ManifestRecord>(AGENT_MANIFESTS);
      const taker = await AgentsWithoutScopes.open(documents);
      const tenant = `beside-${store.name.toLowerCase()}`;
      const admin = person(tenant, 'ada', ['svc:admin']);
      const id = systemRandom.uuid();
      await texts.insert({ tenant, id: 'text', version: 1, manifest_yaml: yaml('late', '1.0.0') });
      const last_event = { sequence: 1, event_type: 'AgentDeployed', payload: {}, recorded_at: '2026-01-01' };
      await old.insert({
        ...{ tenant, id, version: 1, name: 'late', description: 'old', labels: {}, deleted: false, last_event },
        versions: [{ version: '1.0.0', manifest_id: 'text', deployed_at: '2026-01-01' }],
      });
      await taker.copy();
      assert.equal((await catalog.get(admin, 'late')).agent_id, id);
      await catalog.promote({ ...inAcme, tenant }, id, 'global');
      await taker.copy();
      assert.equal((await catalog.get(admin, 'late')).scope, 'global', 'one that moved is not copied once more');
      assert.equal((await old.get(tenant, id))?.name, 'late');
      await catalog.delete(operator, id);
      assert.equal(await old.get(tenant, id), null);
      await taker.take();
      await assert.rejects(catalog.get(admin, 'late'), refused('not_found'));
    });

    it('admits as many agents as the quota says, over races on several nodes at most one more for each other node', async () => {
      const tenant = `quota-${store.name.toLowerCase()}`;
      const carl: Identity = { ...person(tenant, 'carl', []), kind: 'consumer' };
      const open = () =>
        createAgentCatalog({
          ...{ documents, clock: systemClock, random: systemRandom },
          quota: { most: ({ kind }) => (kind === 'consumer' ? 5 : null) },
        });
      const [one, two] = [await open(), await open()];
      const results = await Promise.allSettled(
        Array.from({ length: 24 }, (_, n) =>
          (n % 2 === 0 ? one : two).deploy(carl, yaml(`quota-${n}`, '1.0.0'), { force: false }),
        ),
      );
      for (const result of results)
        if (result.status === 'rejected') refused('limit_reached', /5 agents/)(result.reason);
      const kept = (await one.list(carl)).items;
      assert.ok(kept.length === 5 || kept.length === 6, `${kept.length} agents`);
      const [first, second] = kept;
      assert.ok(first !== undefined && second !== undefined);
      await two.deploy(carl, yaml(first.name, '2.0.0'), { force: false });
      assert.equal(await two.hasRoom(carl), false);
      await assert.rejects(one.deploy(carl, yaml('more', '1.0.0'), { force: false }), refused('limit_reached'));
      await one.deploy(person(tenant, 'dora', []), yaml('hers', '1.0.0'), { force: false });
      for (const { agent_id } of kept.slice(0, kept.length - 4)) await one.delete(carl, agent_id);
      await one.deploy(carl, yaml('more', '1.0.0'), { force: false });
      const records = await documents.collection(AGENTS);
      assert.equal(await records.count({ tenant }), 6);
    });
  });
