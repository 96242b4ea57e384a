import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { clientOf, metadataOf, unary } from '../transport/grpc/call.ts';
import type { Ask } from './product-node.ts';
import { CALLER_NAMES, CALLERS, type CallerName } from './realms.ts';
import { callOf, operationsOf, SURFACE } from './surface.ts';
import { bytesOf, Tenancy } from './tenancy.ts';
import { DONE, makeTenantObjects, type TenantObjects, workflowText } from './tenant-objects.ts';

/** Names in beta's requests for an object that never existed: as long as the real name. */
const unknownFor = (name: string): string => (/^[0-9a-f-]{36}$/.test(name) ? randomUUID() : 'n'.repeat(name.length));

const ENDLESS: ReadonlySet<string> = new Set(['GET /v1/feed', 'GET /v1/tap']);

const STRANGERS = CALLER_NAMES.filter((name) => CALLERS[name].tenant !== 'alpha');

describe('isolation of tenants, over every route', () => {
  let tenancy: Tenancy;
  let own: TenantObjects;
  let alphas: readonly string[];
  const as =
    (caller: CallerName) =>
    (method: string, path: string, ask: Ask = {}) =>
      tenancy.as(caller, method, path, ask);
  before(async () => {
    tenancy = await Tenancy.open();
    own = await makeTenantObjects(as('alphaAdmin'), 'alpha');
    // The others have things of their own, so that their lists are not empty anyway.
    await makeTenantObjects(as('betaAdmin'), 'beta');
    alphas = Object.values(own);
  });
  after(() => tenancy[Symbol.asyncDispose]());

  /** Names that a route on such an object takes. */
  const namesFor = (operation: string): string[] => {
    const { thing } = SURFACE[operation] ?? {};
    if (operation.includes('/lookup/')) return [own.agentName];
    if (thing === 'workflow') return [own.workflow, own.workflowName];
    return thing === undefined || thing === 'node' ? [] : [own[thing]];
  };

  test('the table of these tests has every route of the served description, and no other', async () => {
    assert.deepEqual((await operationsOf(tenancy.node)).sort(), Object.keys(SURFACE).sort());
  });

  // Before other callers ask by name, since names in their requests are in traces of their own tenant.
  test('no list, filter or count of another tenant contains anything of the tenant', async () => {
    const lists = Object.entries(SURFACE).filter(([name, { access }]) => access === 'read' && !name.includes('{'));
    const filters = [
      `/v1/executions?agent_id=${own.agent}`,
      `/v1/workflows/executions?workflow_id=${own.workflow}`,
      `/v1/workflows/executions?workflow_id=${own.workflowName}&status=waiting_for_human_input`,
      '/v1/workflows?scope=visible',
      '/v1/workflows?scope=global',
    ];
    // Feed and tap have no end; test/usecases/feed.test.ts and test/usecases/traces/tap.test.ts cover them.
    const gets = lists.filter(([name]) => name.startsWith('GET ') && !ENDLESS.has(name));
    const paths = [...gets.map(([name, { query = '' }]) => name.slice(4) + query), ...filters];
    for (const path of paths) {
      const mine = await tenancy.as('alphaUser', 'GET', path);
      assert.equal(mine.status, 200, path);
      for (const caller of STRANGERS) {
        const { text } = await tenancy.as(caller, 'GET', path);
        const seen = alphas.filter((name) => text.includes(name));
        assert.deepEqual(seen, [], `${caller} sees in ${path}`);
      }
    }
    const { body } = await tenancy.as('betaAdmin', 'GET', '/v1/human-approvals');
    // Its run, and the run that its stimulus started.
    assert.ok(Number(body.count) <= 2, `pending: ${body.count}`);
  });

  test('any request for an object of another tenant answers as for one that never existed', async () => {
    for (const [operation, row] of Object.entries(SURFACE)) {
      if (row.makes || row.access === 'public') continue;
      for (const name of namesFor(operation)) {
        const [real, none] = [callOf(operation, name), callOf(operation, unknownFor(name))];
        for (const caller of STRANGERS) {
          const [foreign, never] = await Promise.all([
            tenancy.as(caller, real.method, real.path, real.ask),
            tenancy.as(caller, none.method, none.path, none.ask),
          ]);
          assert.equal(bytesOf(foreign), bytesOf(never), `${caller} asks ${operation}`);
          // An approval that does not exist is shown with 200 (H19).
          const shown = operation === 'GET /v1/human-approvals/{id}' ? [200, 403] : [403, 404];
          assert.ok(shown.includes(foreign.status), `${caller} asks ${operation}: ${foreign.status}`);
        }
      }
    }
  });

  test('a workflow that names an agent, a workflow or a volume of another tenant finds none', async () => {
    const next = [{ condition: 'on_success', target: 'done' }];
    const cases = {
      agent: workflowText('takes-agent', { a: { kind: 'Agent', agent: own.agent, transitions: next }, done: DONE }),
      child: workflowText('takes-child', {
        a: { kind: 'Subworkflow', workflow_id: own.workflow, transitions: next },
        done: DONE,
      }),
      volume: workflowText(
        'takes-volume',
        { a: DONE },
        { storage: { shared_volumes: [{ name: 'x', storage_class: 'persistent', volume_id: own.volume }] } },
      ),
    };
    for (const [what, manifest] of Object.entries(cases)) {
      const headers = { 'content-type': 'application/yaml' };
      const deployed = await tenancy.as('betaAdmin', 'POST', '/v1/workflows', { body: manifest, headers });
      assert.equal(deployed.status, 200, deployed.text);
      const run = callOf('POST /v1/workflows/{name}/run', `takes-${what}`);
      const { body: started } = await tenancy.as('betaAdmin', run.method, run.path, run.ask);
      const ended = await waitUntil(`the run that takes a ${what} to end`, async () => {
        const { body } = await tenancy.as('betaAdmin', 'GET', `/v1/workflows/executions/${started.execution_id}`);
        return body.status !== 'running' && body;
      });
      assert.equal(ended.status, 'failed', what);
      assert.match(JSON.stringify(ended.error), /is not deployed in this tenant|volume/, what);
      assert.doesNotMatch(JSON.stringify(ended), /alpha/, what);
    }
  });

  test('over gRPC a judge, agent or route of another tenant does not exist', async () => {
    const client = clientOf(await tenancy.node.process.grpcAddress);
    for (const caller of STRANGERS) {
      const as = metadataOf(tenancy.headersOf(caller));
      for (const [real, none] of [
        [own.agent, randomUUID()],
        [own.agentName, unknownFor(own.agentName)],
      ] as const) {
        const judged = (agent_id: string) =>
          unary((done) =>
            client.validateWithJudges(
              {
                task: 't',
                output: 'o',
                judges: [{ agent_id, input_template: '', weight: 1 }],
                context_json: '',
                consensus: undefined,
              },
              as,
              done,
            ),
          );
        const [foreign, never] = [await judged(real), await judged(none)];
        assert.equal(foreign.code, never.code, caller);
        assert.equal(foreign.details.replace(real, ''), never.details.replace(none, ''), caller);
      }
      const sent = (source_name: string) =>
        unary((done) => client.ingestStimulus({ source_name, content: 'x', headers: {} }, as, done));
      const [foreign, never] = [await sent(own.source), await sent('nobody-routes-this')];
      assert.deepEqual([foreign.code, foreign.details], [never.code, never.details], caller);
      assert.notEqual(foreign.code, 'OK');
    }
    client.close();
  });

  test('after these requests the tenant’s objects are unchanged, and their owner sees each', async () => {
    const looks = Object.entries(SURFACE).filter(([name, { thing }]) => name.startsWith('GET ') && thing !== undefined);
    for (const [operation, { thing }] of looks.filter(([name]) => !name.endsWith('/stream'))) {
      // All other objects are visible to every user of the tenant.
      const owner = thing === 'key' || thing === 'secret' ? 'alphaAdmin' : 'alphaUser';
      for (const name of namesFor(operation)) {
        const { method, path, ask } = callOf(operation, name);
        const answer = await tenancy.as(owner, method, path, ask);
        assert.equal(answer.status, 200, `${operation}: ${answer.text}`);
      }
    }
    const owner: CallerName = 'alphaUser';
    const { body: run } = await tenancy.as(owner, 'GET', `/v1/workflows/executions/${own.run}`);
    assert.equal(run.status, 'waiting_for_human_input');
    const { body: shown } = await tenancy.as(owner, 'GET', `/v1/human-approvals/${own.approval}`);
    assert.match(JSON.stringify(shown), /May alpha go on/);
    const note = await tenancy.as(owner, 'GET', `/v1/volumes/${own.volume}/files/content?path=note.txt`);
    assert.equal(note.text, 'note of alpha');
    const files = await tenancy.as(owner, 'GET', `/v1/volumes/${own.volume}/files`);
    assert.doesNotMatch(files.text, /theirs/);
    const { text } = await tenancy.as(owner, 'GET', '/v1/stimuli/routes');
    assert.match(text, new RegExp(`"${own.source}"`));
  });
});
