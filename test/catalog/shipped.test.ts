import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAgentCatalog } from '../../catalog/agent-catalog.ts';
import type { AgentCatalog, WorkflowCatalog } from '../../catalog/api.ts';
import { createBuiltIns } from '../../catalog/built-in/built-ins.ts';
import { createWorkflowCatalog } from '../../catalog/workflow-catalog.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { DOCUMENT_STORES } from './document-stores.ts';

const operator: Identity = {
  ...{ kind: 'local', subject: 'op', tenant: 'svc-system' },
  ...{ roles: [], tier: 'enterprise' },
};
const ada: Identity = { ...operator, kind: 'tenant_user', subject: 'ada', tenant: 'acme', roles: ['svc:admin'] };
const JUDGE = 'code-quality-judge';
const PIPELINE = 'svc-intent-pipeline';

const yaml = (name: string, version: string) => `apiVersion: svc.dev/v1
kind: Agent
metadata: {name: ${name}, version: "${version}"}
spec: {task: {instruction: do it}}
`;

const isShipped = (thrown: unknown): boolean =>
  thrown instanceof SvcError && thrown.code === 'failed_precondition' && /ships with the product/.test(thrown.message);
const isUnknown = (thrown: unknown): boolean => thrown instanceof SvcError && thrown.code === 'not_found';

for (const store of DOCUMENT_STORES)
  describe(`what ships with the product, on ${store.name}`, { skip: store.skip }, () => {
    let stop: () => Promise<void>;
    let agents: AgentCatalog;
    let workflows: WorkflowCatalog;
    before(async () => {
      const opened = await store.open();
      stop = opened.stop;
      const parts = {
        ...{ documents: opened.documents, clock: systemClock, random: systemRandom },
        builtIns: createBuiltIns(),
      };
      agents = await createAgentCatalog(parts);
      workflows = await createWorkflowCatalog({ ...parts, agents });
    });
    after(() => stop());

    it('is found by every caller, by name and UUID, with its one version', async () => {
      const found = await agents.get(ada, JUDGE);
      assert.deepEqual([found.scope, found.status, found.owner], ['global', 'deployed', null]);
      assert.equal((await agents.get(operator, found.agent_id.toUpperCase(), found.version)).name, JUDGE);
      assert.equal((await agents.lookup(ada, JUDGE)).agent_id, found.agent_id);
      assert.deepEqual(
        (await agents.versions(ada, JUDGE)).map(({ version }) => version),
        [found.version],
      );
      await assert.rejects(agents.get(ada, JUDGE, '99.0.0'), isUnknown);
      assert.equal((await workflows.get(ada, PIPELINE)).scope, 'global');
    });

    it('is listed as global and as visible, not as the tenant’s', async () => {
      const has = async (scope?: 'global' | 'visible') =>
        (await agents.list(ada, scope === undefined ? {} : { scope })).items.some(({ name }) => name === JUDGE);
      assert.deepEqual([await has(), await has('global'), await has('visible')], [false, true, true]);
      assert.deepEqual((await agents.list(ada, { scope: 'global', status: 'paused' })).items, []);
      const names = (await workflows.list(ada, { scope: 'visible' })).items.map(({ name }) => name);
      assert.ok(names.includes(PIPELINE));
    });

    it('cannot be changed by any caller', async () => {
      const { agent_id } = await agents.get(operator, JUDGE);
      for (const who of [operator, ada])
        for (const named of [JUDGE, agent_id]) {
          await assert.rejects(agents.delete(who, named, { force: true }), isShipped);
          await assert.rejects(agents.setStatus(who, named, 'paused'), isShipped);
          await assert.rejects(agents.demote(operator, named, 'tenant'), isShipped);
        }
      await assert.rejects(workflows.delete(operator, PIPELINE), isShipped);
      await assert.rejects(workflows.setStatus(operator, PIPELINE, 'archived'), isShipped);
      await assert.rejects(agents.delete(ada, 'nobody'), isUnknown);
    });

    it('comes after a deployed one of its name, which can be changed and deleted', async () => {
      const shipped = await agents.get(ada, JUDGE);
      const { agent_id } = await agents.deploy(ada, yaml(JUDGE, '7.0.0'), { force: false });
      assert.notEqual(agent_id, shipped.agent_id);
      assert.equal((await agents.get(ada, JUDGE)).agent_id, agent_id);
      assert.equal((await agents.get(operator, JUDGE)).agent_id, shipped.agent_id);
      assert.equal((await agents.get(ada, JUDGE, shipped.version)).agent_id, shipped.agent_id);
      await assert.rejects(agents.get(ada, JUDGE, '99.0.0'), isUnknown);
      await agents.delete(ada, JUDGE);
      assert.equal((await agents.get(ada, JUDGE)).agent_id, shipped.agent_id);
    });
  });
