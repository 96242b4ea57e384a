import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ProductNode } from '../product-node.ts';
import { Tenancy } from '../tenancy.ts';
import { makeTenantObjects } from '../tenant-objects.ts';
import { type Asker, answerTo, toolQuestion, unknownFor } from './asker.ts';
import { MODEL } from './isolated-tenants.ts';
import { pathRows } from './path-rows.ts';
import { type Named, ROUTE_ROWS } from './route-table.ts';
import { LIST_ROWS, TOOL_ROWS } from './tool-table.ts';

/**
 * Without an identity provider all callers on the machine are the local operator, in the system's tenant and no other.
 */
describe('the local operator of a data directory with data of tenants', () => {
  let tenancy: Tenancy;
  let node: ProductNode;
  let alpha: Partial<Named>;
  let own: Partial<Named>;
  const local: Asker = { name: 'local', tenant: 'svc-system', headers: {} };
  before(async () => {
    tenancy = await Tenancy.open(MODEL);
    alpha = await makeTenantObjects((method, path, ask) => tenancy.as('alphaAdmin', method, path, ask), 'alpha');
    own = await makeTenantObjects((method, path, ask) => tenancy.as('operator', method, path, ask), 'system');
    await tenancy.node.process.kill('SIGKILL');
    node = await ProductNode.start({ dataDir: join(tenancy.node.directory, 'data'), spec: MODEL });
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await tenancy[Symbol.asyncDispose]();
  });

  test('sees the system’s objects, and gets a tenant’s object as one that never existed', async () => {
    const rows = [
      ...[...pathRows(alpha), ...ROUTE_ROWS].map(({ route: what, things, question }) => ({ what, things, question })),
      ...TOOL_ROWS.map(({ tool, things, args }) => ({
        ...{ what: tool, things },
        question: (name: string) => toolQuestion(tool, args(name)),
      })),
    ];
    let asked = 0;
    for (const { what, things, question } of rows)
      for (const thing of things) {
        const real = alpha[thing];
        if (real === undefined) continue;
        const none = unknownFor(real);
        const foreign = await answerTo(node, local, question(real), real);
        assert.equal(foreign, await answerTo(node, local, question(none), none), `${what} of ${thing}`);
        asked += 1;
      }
    assert.ok(asked > 100, `${asked} requests were made`);
    for (const { route, things, question } of pathRows(own).filter(({ route: one }) => one.startsWith('GET ')))
      for (const thing of things) {
        if (route.endsWith('/stream')) continue;
        const { method, path } = question(own[thing] ?? assert.fail());
        assert.equal((await node.call(method, path)).status, 200, `${route} of ${thing}`);
      }
  });

  test('gets nothing of a tenant in any list', async () => {
    // Its earlier requests with the name of a source are in its own list.
    const names = Object.values(alpha).filter((name) => name !== undefined && name !== alpha.source);
    const gets = [
      'agents?scope=visible',
      'executions',
      'workflows/executions',
      'human-approvals',
      'stimuli',
      'volumes',
    ];
    const questions = [
      ...[...gets, 'stimuli/routes', 'secrets', 'api-keys?all=true', 'seal/sessions', 'cortex/patterns'].map(
        (path) => ({
          ...{ method: 'GET', path: `/v1/${path}` },
        }),
      ),
      ...LIST_ROWS.map(({ tool, args }) => toolQuestion(tool, args('agent flow alpha'))),
    ];
    for (const question of questions) {
      const text = await answerTo(node, local, question, '(nothing)');
      assert.match(text, /^\{"status":200/, text);
      assert.deepEqual(
        names.filter((name) => text.includes(name)),
        [],
        `${question.path}`,
      );
    }
  });
});
