import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { setImmediate as turnOfOthers } from 'node:timers/promises';
import type { CatalogReader, WorkflowCatalog } from '../../catalog/api.ts';
import type { StoredEvent } from '../../catalog/store/event-log.ts';
import type { CatalogRecord } from '../../catalog/store/record.ts';
import {
  createWorkflowCatalog,
  WORKFLOW_EVENTS,
  WORKFLOW_MANIFESTS,
  WORKFLOWS,
} from '../../catalog/workflow-catalog.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { refused } from '../support/refused.ts';
import { eachNth } from '../support/size.ts';
import { crashingDocuments } from './crashing-documents.ts';
import { DOCUMENT_STORES } from './document-stores.ts';

const person = (tenant: string, subject: string, roles: string[]): Identity => ({
  kind: 'tenant_user',
  subject,
  tenant,
  roles,
  tier: 'free',
});
const ada = person('acme', 'ada', ['svc:admin']);
const ben = person('acme', 'ben', []);
const operator: Identity = { ...person(SYSTEM_TENANT, 'op', ['svc:operator']), kind: 'operator' };
/** An operator in a tenant that is not the system's, as a tool that names one acts. */
const inAcme: Identity = { ...operator, tenant: 'acme' };
const reader = ({ tenant, subject }: Identity): CatalogReader => ({ tenant, subject });
const stranger: CatalogReader = { tenant: 'other', subject: 'eve' };

const yaml = (name: string, version: string, text = 'x') => `apiVersion: svc.dev/v1
kind: Workflow
metadata: {name: ${name}, version: "${version}", description: text of ${version}}
spec:
  initial_state: START
  states:
    START: {kind: System, command: "echo ${text}", transitions: []}
`;

for (const store of DOCUMENT_STORES)
  describe(`workflow catalog on ${store.name}`, { skip: store.skip }, () => {
    const it = eachNth(store.nth);
    let documents: Documents;
    let stop: () => Promise<void>;
    let catalog: WorkflowCatalog;
    let count = 0;
    const openCatalog = (on: Documents = documents) =>
      createWorkflowCatalog({
        documents: on,
        clock: systemClock,
        random: systemRandom,
        agents: { get: () => Promise.reject(new SvcError('not_found')) },
      });
    const deploy = (identity: Identity, text: string, scope?: 'user' | 'tenant' | 'global') =>
      catalog.deploy(identity, text, { force: false, ...(scope === undefined ? {} : { scope }) });
    const fresh = () => {
      count += 1;
      return `flow-${count}`;
    };
    before(async () => {
      ({ documents, stop } = await store.open());
      catalog = await openCatalog();
    });
    after(() => stop());

    it('keeps one id for all versions of a name, and answers the newest', async () => {
      const name = fresh();
      const first = await deploy(ada, yaml(name, '1.9.0'));
      const second = await deploy(ada, yaml(name, '1.10.0'));
      assert.equal(second.workflow_id, first.workflow_id);
      assert.deepEqual(second.warnings, []);
      const found = await catalog.get(reader(ben), name);
      assert.deepEqual(
        [found.id, found.version, found.scope, found.owner, found.initial_state, found.description],
        [first.workflow_id, '1.10.0', 'tenant', null, 'START', 'text of 1.10.0'],
      );
      assert.equal(
        (await catalog.get(reader(ben), found.id.toUpperCase(), '1.9.0')).manifest_yaml,
        yaml(name, '1.9.0'),
      );
      assert.deepEqual(
        (await catalog.versions(reader(ben), name)).map((entry) => entry.version),
        ['1.10.0', '1.9.0'],
      );
      await assert.rejects(catalog.get(reader(ben), name, '7.0.0'), refused('not_found'));
    });

    it('refuses an existing version unless forced, and then replaces it', async () => {
      const name = fresh();
      await deploy(ada, yaml(name, '1.0.0'));
      await assert.rejects(deploy(ada, yaml(name, '1.0.0', 'other')), refused('conflict'));
      await catalog.deploy(ada, yaml(name, '1.0.0', 'other'), { force: true });
      assert.equal((await catalog.get(reader(ada), name)).manifest_yaml, yaml(name, '1.0.0', 'other'));
      assert.equal((await catalog.versions(reader(ada), name)).length, 1);
    });

    it('lets one of 100 deploys of a version win, over several catalogs', async () => {
      const name = fresh();
      const catalogs = await Promise.all([openCatalog(), openCatalog(), openCatalog(), openCatalog()]);
      const results = await Promise.allSettled(
        Array.from({ length: 25 }, () => catalogs)
          .flat()
          .map((one, n) => one.deploy(ada, yaml(name, '1.0.0', `n${n}`), { force: false })),
      );
      const won = results.flatMap((result, n) => (result.status === 'fulfilled' ? [n] : []));
      assert.equal(results.length, 100);
      assert.equal(won.length, 1);
      for (const result of results) if (result.status === 'rejected') refused('conflict')(result.reason);
      assert.match((await catalog.get(reader(ada), name)).manifest_yaml, new RegExp(`echo n${won[0]}"`));
    });

    it('names every broken rule with path and line, at validate and at deploy', async () => {
      const bad = yaml('Bad_Name', '1.0').replace('initial_state: START', 'initial_state: NOWHERE');
      const checked = await catalog.validate(reader(ada), bad);
      assert.equal(checked.valid, false);
      const errors = checked.findings.filter(({ severity }) => severity === 'error');
      const places = errors.map(({ path, line }) => `${path} ${line}`);
      for (const place of ['metadata.name 3', 'metadata.version 3', 'spec.initial_state 5'])
        assert.ok(places.includes(place), `${place}: ${places.join(', ')}`);
      for (const { rule, cure } of errors) assert.ok(rule !== '' && cure !== '');
      await assert.rejects(deploy(ada, bad), (thrown) => {
        refused('invalid_manifest')(thrown);
        assert.ok(thrown instanceof SvcError && thrown.details?.some(({ line }) => line === 5));
        return true;
      });
      const good = await catalog.validate(reader(ada), yaml('good', '1.0.0'));
      assert.equal(good.valid, true);
      assert.deepEqual(good.metadata, { name: 'good', version: '1.0.0', initial_state: 'START' });
    });

    it('warns of unknown agents and of child cycles through what is deployed, and deploys all the same', async () => {
      const [one, two] = [fresh(), fresh()];
      const parent = (name: string, child: string) =>
        yaml(name, '1.0.0').replace(
          'START: {kind: System, command: "echo x", transitions: []}',
          `START: {kind: Subworkflow, workflow_id: ${child}, transitions: [{target: NEXT}]}
    NEXT: {kind: Agent, agent: nobody, transitions: []}`,
        );
      const rules = (warnings: readonly { rule: string; line: number }[]) =>
        warnings.map(({ rule, line }) => `${rule} ${line}`).filter((text) => /^(child|unknown)_/.test(text));
      const first = await deploy(ada, parent(one, two));
      assert.deepEqual(rules(first.warnings), ['unknown_child_workflow 7', 'unknown_agent 8']);
      const second = await catalog.validate(reader(ada), parent(two, one));
      assert.equal(second.valid, true);
      assert.deepEqual(rules(second.findings), ['child_cycle 7', 'unknown_agent 8']);
    });

    it('finds the own workflow before the tenant’s, and that before a global one', async () => {
      const name = fresh();
      const ids = {
        global: (await deploy(operator, yaml(name, '1.0.0'), 'global')).workflow_id,
        tenant: (await deploy(ada, yaml(name, '2.0.0'))).workflow_id,
        user: (await deploy(ben, yaml(name, '3.0.0'), 'user')).workflow_id,
      };
      const seen = async (by: CatalogReader) => (await catalog.get(by, name)).scope;
      assert.deepEqual(
        [await seen(reader(ben)), await seen(reader(ada)), await seen({ tenant: 'acme' }), await seen(stranger)],
        ['user', 'tenant', 'tenant', 'global'],
      );
      assert.equal((await catalog.get(reader(ben), name, '1.0.0')).scope, 'global', 'the nearest that has the version');
      assert.equal((await catalog.get(reader(ben), ids.global)).scope, 'global');
      assert.equal((await catalog.get(reader(ben), ids.user)).owner, 'ben');
      for (const id of [ids.tenant, ids.user]) await assert.rejects(catalog.get(stranger, id), refused('not_found'));
      await assert.rejects(catalog.get(reader(ada), ids.user), refused('not_found'));
    });

    it('lists by scope, in pages, and never another tenant’s or user’s', async () => {
      const tenant = `list-${store.name.toLowerCase()}`;
      const owner = person(tenant, 'li', ['svc:admin']);
      const other = person(tenant, 'lo', []);
      await deploy(owner, yaml('b-tenant', '1.0.0'));
      await deploy(owner, yaml('a-own', '1.0.0'), 'user');
      await deploy(other, yaml('c-other', '1.0.0'), 'user');
      const name = `b-${fresh()}`;
      await deploy(operator, yaml(name, '1.0.0'), 'global');
      const names = async (scope?: 'global' | 'visible', page = {}) =>
        (await catalog.list(reader(owner), { ...(scope === undefined ? {} : { scope }), ...page })).items.map(
          (one) => one.name,
        );
      assert.deepEqual(await names(), ['a-own', 'b-tenant']);
      const visible = await names('visible');
      assert.deepEqual(visible, visible.toSorted());
      assert.ok(['a-own', 'b-tenant', name].every((one) => visible.includes(one)) && !visible.includes('c-other'));
      assert.deepEqual(await names('visible', { limit: 2, skip: 1 }), visible.slice(1, 3));
      const global = await names('global');
      assert.ok(global.includes(name) && !global.includes('b-tenant'));
      await assert.rejects(catalog.list(reader(owner), { limit: 0 }), refused('invalid_argument'));
    });

    it('lets operators alone change global workflows, administrators their tenant’s scopes, users their own', async () => {
      const name = fresh();
      const service: Identity = { ...person('acme', 'svc', ['svc:admin']), kind: 'service_account' };
      for (const who of [ada, ben, service])
        await assert.rejects(deploy(who, yaml(name, '1.0.0'), 'global'), refused('forbidden'));
      const { workflow_id } = await deploy(ben, yaml(name, '1.0.0'), 'user');
      await assert.rejects(catalog.promote(ben, name, 'tenant'), refused('forbidden'));
      await assert.rejects(catalog.promote(ada, workflow_id, 'global'), refused('forbidden'));
      assert.equal((await catalog.promote(ada, workflow_id, 'tenant')).scope, 'tenant');
      await assert.rejects(catalog.promote(ada, workflow_id, 'tenant'), refused('failed_precondition'));
      await assert.rejects(catalog.demote(ben, name, 'user'), refused('forbidden'));
      const back = await catalog.demote(ada, name, 'user', 'ben');
      assert.deepEqual([back.id, back.owner], [workflow_id, 'ben']);
      const global = await deploy(operator, yaml(fresh(), '1.0.0'), 'global');
      await assert.rejects(catalog.delete(ada, global.workflow_id), refused('forbidden'));
      await assert.rejects(catalog.delete({ ...ben, subject: 'cyn' }, workflow_id), refused('not_found'));
      assert.deepEqual(await catalog.delete(ben, name), { workflow_id });
    });

    it('promotes and demotes across tenants with id, versions and texts', async () => {
      const name = fresh();
      const { workflow_id } = await deploy(ada, yaml(name, '1.0.0'));
      await deploy(ada, yaml(name, '2.0.0'));
      const up = await catalog.promote(inAcme, name, 'global');
      assert.deepEqual([up.id, up.scope, up.version], [workflow_id, 'global', '2.0.0']);
      assert.equal((await catalog.get(stranger, name, '1.0.0')).manifest_yaml, yaml(name, '1.0.0'));
      assert.ok(!(await catalog.list(reader(ada))).items.some((one) => one.name === name));
      const down = await catalog.demote(inAcme, name, 'tenant');
      assert.deepEqual([down.id, down.scope], [workflow_id, 'tenant']);
      await assert.rejects(catalog.get(stranger, name), refused('not_found'));
      assert.equal((await catalog.versions(reader(ada), name)).length, 2);
      assert.equal((await catalog.get(reader(ada), name)).manifest_yaml, yaml(name, '2.0.0'));
    });

    it('refuses to promote onto a taken name and leaves both as they were', async () => {
      const name = fresh();
      await deploy(ada, yaml(name, '1.0.0'));
      await deploy(operator, yaml(name, '9.0.0'), 'global');
      await deploy(ben, yaml(name, '3.0.0'), 'user');
      await assert.rejects(catalog.promote(inAcme, name, 'global'), refused('conflict'));
      await assert.rejects(catalog.promote({ ...ben, roles: ['svc:admin'] }, name, 'tenant'), refused('conflict'));
      assert.deepEqual(
        [(await catalog.get(reader(ada), name)).version, (await catalog.get(stranger, name)).version],
        ['1.0.0', '9.0.0'],
      );
    });

    it('never hides a workflow while it moves up and down', async () => {
      const name = fresh();
      const { workflow_id } = await deploy(ada, yaml(name, '1.0.0'));
      let moving = true;
      const looks = Array.from({ length: 4 }, async () => {
        const by = await openCatalog();
        let seen = 0;
        for (; moving || seen === 0; seen += 1) {
          assert.equal((await by.get(reader(ben), name)).id, workflow_id);
          // Reads of SQLite never leave the microtasks; a caller that moves an entry needs a turn.
          await turnOfOthers();
        }
        return seen;
      });
      for (let round = 0; round < 10; round += 1) {
        await catalog.promote(inAcme, name, 'global');
        await catalog.demote(inAcme, name, 'tenant');
      }
      moving = false;
      for (const seen of await Promise.all(looks)) assert.ok(seen > 0);
    });

    it('loses no version when deploys race with moves', async () => {
      const name = fresh();
      const { workflow_id } = await deploy(ada, yaml(name, '1.0.0'));
      const races = await Promise.allSettled([
        catalog.promote(inAcme, name, 'global'),
        catalog.promote(inAcme, name, 'global'),
        ...Array.from({ length: 8 }, (_, n) => deploy(ada, yaml(name, `1.1.${n}`))),
      ]);
      const moved = races.slice(0, 2).filter(({ status }) => status === 'fulfilled');
      assert.equal(moved.length, 1);
      const kept = new Set<string>();
      for (const one of await catalog.versions({ tenant: SYSTEM_TENANT }, workflow_id)) kept.add(one.version);
      // Those that came after the move made a new workflow of the tenant.
      const later = await catalog.versions(reader(ada), name);
      for (const one of later) kept.add(one.version);
      for (const [n, race] of races.slice(2).entries()) {
        assert.equal(race.status, 'fulfilled');
        assert.ok(kept.has(`1.1.${n}`), `1.1.${n}`);
      }
    });

    it('deletes all versions and texts, frees the name, and keeps the log', async () => {
      const name = fresh();
      const { workflow_id } = await deploy(ada, yaml(name, '1.0.0'));
      await catalog.demote(ada, name, 'user', 'ben');
      await catalog.promote(ada, workflow_id, 'tenant');
      assert.deepEqual(await catalog.delete(ada, name), { workflow_id });
      await assert.rejects(catalog.get(reader(ada), workflow_id), refused('not_found'));
      const again = await deploy(ada, yaml(name, '1.0.0'));
      assert.notEqual(again.workflow_id, workflow_id);
      const events = await documents.collection<StoredEvent & { workflow_id: string }>(WORKFLOW_EVENTS);
      const logged = await events.find({
        tenant: 'acme',
        where: { workflow_id },
        sort: [['sequence', 'asc']],
        limit: 10,
      });
      assert.deepEqual(
        logged.map((event) => [event.sequence, event.event_type, event.payload.new_scope ?? event.payload.scope]),
        [
          [1, 'WorkflowRegistered', 'tenant'],
          [2, 'WorkflowScopeChanged', 'user'],
          [3, 'WorkflowScopeChanged', 'tenant'],
          [4, 'WorkflowRemoved', 'tenant'],
        ],
      );
    });

    it('repairs a move that crashed after any of its writes, while every reader still finds the workflow', async () => {
      for (const up of [true, false])
        for (let writes = 0, crashed = true; crashed; writes += 1) {
          const name = fresh();
          const { workflow_id } = up
            ? await deploy(ada, yaml(name, '1.0.0'))
            : await deploy(operator, yaml(name, '1.0.0'), 'global');
          const dying = await openCatalog(crashingDocuments(documents, writes));
          const move = up ? dying.promote(inAcme, name, 'global') : dying.demote(inAcme, name, 'tenant');
          crashed = await move.then(
            () => false,
            () => true,
          );
          const at = `${up ? 'promote' : 'demote'} after ${writes} writes`;
          const one = await openCatalog();
          const listed = (await one.list(reader(ada), { scope: 'visible' })).items.filter(
            (entry) => entry.name === name,
          );
          assert.deepEqual([listed.length, listed[0]?.id], [1, workflow_id], at);
          const found = await one.get(reader(ada), name);
          assert.equal(found.id, workflow_id, at);
          // The next touches bring both places in order: exactly one record is left, with its text.
          const mover = found.scope === 'global' ? operator : ada;
          await one.deploy(mover, yaml(name, '1.1.0'), {
            force: false,
            scope: found.scope === 'global' ? 'global' : 'tenant',
          });
          assert.equal((await one.get(reader(ada), workflow_id)).version, '1.1.0', at);
          await one.deploy(operator, yaml(name, '5.0.0'), { force: false, scope: 'global' });
          await one.deploy(ada, yaml(name, '5.0.1'), { force: false });
          await one.delete(ada, name);
          await one.delete(operator, name);
          const records = await documents.collection<CatalogRecord>(WORKFLOWS);
          assert.equal(await records.count({ tenant: null, where: { name } }), 0, at);
        }
      const texts = await documents.collection(WORKFLOW_MANIFESTS);
      assert.ok((await texts.count({ tenant: null })) > 0);
    });
  });
