import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Identity } from '../../../runtime/identity.ts';
import { stimulusNode } from '../../actors/stimulus/stimulus-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AREA_KERNELS } from './area-kernel.ts';
import { namedUsers, restServer } from './rest-server.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const as = (user: string) => ({ authorization: `Bearer ${user}` });
const answer = (workflow: string, confidence: number) => JSON.stringify({ workflow, confidence, reasoning: 'why' });

for (const { name, missing, start } of AREA_KERNELS) {
  describe(`stimuli over REST, ${name}`, { skip: missing ?? false }, () => {
    let node: Awaited<ReturnType<typeof stimulusNode>>;
    let at: Awaited<ReturnType<typeof restServer>>;
    before(async () => {
      const configured = ['deploy', 'strict', 'broken', 'absent'].map((workflow) => ({
        source: `To-${workflow}`,
        workflow,
        tenant: 'alice',
      }));
      node = await stimulusNode({
        start,
        configured,
        settings: { router_agent: 'router', classification_timeout_secs: 1 },
      });
      const { stimuli, routes: stimulusRoutes } = node;
      at = await restServer({ stimuli, stimulusRoutes, authenticator: namedUsers });
    });
    after(async () => {
      await at[Symbol.asyncDispose]();
      await node.stop();
    });

    const post = (body: unknown, user = 'alice') => at.postJson('/v1/stimuli', body, as(user));
    const get = (path: string, user = 'alice') => at.call('GET', path, { headers: as(user) });
    const runOf = (id: string) => node.started.find(({ execution_id }) => execution_id === id);

    test('a direct route starts its workflow with intent, input and blackboard', async () => {
      const done = await post({ source: 'to-deploy', content: '{"amount": 3, "__proto__": {"x": 1}}' });
      assert.equal(done.status, 200);
      const { stimulus_id, workflow_execution_id } = done.body;
      assert.match(stimulus_id, UUID);
      assert.match(workflow_execution_id, UUID);
      const run = runOf(workflow_execution_id) ?? assert.fail('not started');
      assert.equal(run.workflow, 'deploy');
      assert.equal(run.intent, '{"amount": 3, "__proto__": {"x": 1}}');
      assert.deepEqual(run.input, { amount: 3 });
      assert.deepEqual(run.blackboard, { stimulus: { id: stimulus_id, source: 'to-deploy', headers: {} } });
      assert.deepEqual([run.identity.tenant, run.identity.subject], ['alice', 'a']);
    });

    test('a source with half a surrogate pair is refused by name', async () => {
      const { status, body } = await post({ source: 'to-\ud800', content: 'x' });
      assert.deepEqual([status, body.message], [400, 'source: expected Unicode text without lone surrogates']);
    });

    test('content that is no JSON object is the input {content}', async () => {
      for (const content of ['deploy it', '[1]', '"x"', '7', '{', '']) {
        const { body } = await post({ source: 'TO-DEPLOY', content });
        assert.deepEqual(runOf(body.workflow_execution_id)?.input, { content }, content);
      }
      const deep = `{"a":${'['.repeat(500)}${']'.repeat(500)}}`;
      const { body } = await post({ source: 'to-deploy', content: deep });
      assert.deepEqual(runOf(body.workflow_execution_id)?.input, { content: deep });
    });

    test('of 100 equal requests at once one runs and 99 are duplicates that name it', async () => {
      const body = { source: 'to-deploy', content: 'once', idempotency_key: `key/with any ${name} text` };
      const answers = await Promise.all(Array.from({ length: 100 }, () => post(body)));
      const [first, ...more] = answers.filter(({ status }) => status === 200);
      assert.equal(more.length, 0);
      const duplicates = answers.filter(({ status }) => status === 409);
      assert.equal(duplicates.length, 99);
      const { stimulus_id, workflow_execution_id } = first?.body ?? assert.fail('none ran');
      for (const { body: refused } of duplicates) {
        const { message, ...ids } = refused;
        assert.equal(typeof message, 'string');
        const expected = { error: 'idempotent_duplicate', original_stimulus_id: stimulus_id, workflow_execution_id };
        assert.deepEqual(ids, expected);
      }
      assert.equal(node.started.filter(({ intent }) => intent === 'once').length, 1);
    });

    test('a key counts in its own tenant and source only, and without one nothing is a duplicate', async () => {
      const key = 'same';
      const body = { source: 'to-deploy', content: 'x', idempotency_key: key };
      assert.equal((await post(body)).status, 200);
      assert.equal((await post({ ...body, source: 'TO-Deploy' })).status, 409);
      node.router.says = answer('deploy', 1);
      assert.equal((await post({ ...body, source: 'other' })).status, 200);
      assert.equal((await post(body, 'bob')).status, 200);
      assert.equal((await post({ source: 'to-deploy', content: 'x' })).status, 200);
      assert.equal((await post({ source: 'to-deploy', content: 'x' })).status, 200);
    });

    test('a rejected stimulus has started nothing, so its repeat is a new one', async () => {
      const body = { source: 'to-strict', content: 'x', idempotency_key: 'again' };
      for (let repeat = 0; repeat < 3; repeat += 1) {
        const refused = await post(body);
        assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed']);
        assert.match(refused.body.message, /input\.amount/);
      }
    });

    test('a workflow that cannot be started or is not deployed is 500 workflow_error, naming it', async () => {
      for (const workflow of ['broken', 'absent']) {
        const refused = await post({ source: `to-${workflow}`, content: 'x' });
        assert.deepEqual([refused.status, refused.body.error], [500, 'workflow_error']);
        assert.match(refused.body.message, new RegExp(workflow));
      }
    });

    test('the router agent decides when it is sure enough: exactly the threshold is', async () => {
      node.router.says = `\`\`\`json\n${answer('triage', 0.7)}\n\`\`\``;
      const done = await post({ source: 'mail', content: 'it is on fire' });
      assert.equal(done.status, 200);
      assert.equal(runOf(done.body.workflow_execution_id)?.workflow, 'triage');
      const { agent, input } = node.asked.at(-1) ?? assert.fail('not asked');
      assert.equal(agent, 'router');
      const stimulus = { source: 'mail', content: 'it is on fire', headers: {} };
      assert.deepEqual(JSON.parse(input), { stimulus, tenant_id: 'alice' });
    });

    for (const [what, says, pattern] of [
      ['below the threshold', answer('triage', 0.69), /0\.69/],
      ['with an unknown workflow', answer('absent', 0.9), /absent/],
      ['that is no JSON', 'triage, I guess', /not JSON/],
      ['with a member too many', JSON.stringify({ ...JSON.parse(answer('triage', 1)), extra: 1 }), /not usable/],
      ['with an impossible confidence', answer('triage', 1.1), /confidence/],
      ['without a reason', JSON.stringify({ workflow: 'triage', confidence: 1 }), /reasoning/],
    ] as const) {
      test(`an answer of the router agent ${what} is 422 classification_failed`, async () => {
        node.router.says = says;
        const before = node.started.length;
        const refused = await post({ source: 'mail', content: 'x' });
        assert.deepEqual([refused.status, refused.body.error], [422, 'classification_failed']);
        assert.match(refused.body.message, pattern);
        assert.equal(node.started.length, before);
      });
    }

    for (const [what, says] of [
      ['fails', { status: 'failed', reason: 'max_iterations_exceeded' }],
      ['is not deployed', 'unknown'],
      ['does not answer in time', 'silent'],
    ] as const) {
      test(`a router agent that ${what} is 500 workflow_error`, async () => {
        node.router.says = says;
        const refused = await post({ source: 'mail', content: 'x' });
        assert.deepEqual([refused.status, refused.body.error], [500, 'workflow_error']);
        assert.match(refused.body.message, /router agent/);
      });
    }

    test('a stimulus is routed although its sender disconnects', async () => {
      node.router.says = 'silent';
      const gone = new AbortController();
      const request = { source: 'mail', content: 'left alone', headers: {}, idempotencyKey: 'left' };
      const identity: Identity = { kind: 'tenant_user', subject: 'a', tenant: 'alice', roles: [], tier: 'free' };
      const asked = node.asked.length;
      const call = node.stimuli.ingest({ ...request, identity }, { signal: gone.signal });
      const refused = assert.rejects(call);
      const router = await waitUntil('the router is asked', () => node.asked[asked]);
      gone.abort();
      await refused;
      await node.say(router, answer('triage', 1));
      await waitUntil('it runs', () => node.started.some(({ intent }) => intent === 'left alone'));
    });

    test('stimuli are listed newest first and shown with what became of them', async () => {
      const done = await post({ source: 'to-deploy', content: 'listed' });
      const { stimulus_id: id, workflow_execution_id } = done.body;
      const shown = await waitUntil('it is routed', async () => {
        const { body } = await get(`/v1/stimuli/${id}`);
        return body.status === 'routed' ? body : undefined;
      });
      const { received_at, ...rest } = shown;
      assert.deepEqual(rest, { id, source: 'to-deploy', status: 'routed', workflow_execution_id, reason: null });
      const { stimuli } = (await get('/v1/stimuli?limit=5')).body;
      assert.deepEqual(stimuli[0], shown);
      assert.equal(new Date(received_at).toISOString(), received_at);
      await post({ source: 'to-strict', content: 'x' });
      const rejected = await waitUntil('the rejected one is listed', async () => {
        const [newest] = (await get('/v1/stimuli?limit=1')).body.stimuli;
        return newest.status === 'rejected' ? newest : undefined;
      });
      assert.equal(rejected.workflow_execution_id, null);
      assert.match(rejected.reason, /^validation_failed: /);
      assert.equal((await get(`/v1/stimuli/${id}`, 'bob')).status, 404);
      assert.equal((await get('/v1/stimuli/nope')).status, 400);
    });

    test('direct routes are put, listed and removed; a stored one has priority over the settings', async () => {
      const put = (source: string, body: unknown, user = 'alice') =>
        at.call('PUT', `/v1/stimuli/routes/${source}`, {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json', ...as(user) },
        });
      const remove = (source: string, user = 'alice') =>
        at.call('DELETE', `/v1/stimuli/routes/${source}`, { headers: as(user) });
      const stored = { source: 'to-deploy', workflow: 'deploy2', origin: 'stored' };
      assert.deepEqual((await put('To-Deploy', { workflow: 'first' })).status, 200);
      assert.deepEqual((await put('to-deploy', { workflow: 'deploy2' })).body, stored);
      const listed = (await get('/v1/stimuli/routes')).body.routes;
      assert.deepEqual(
        listed.find(({ source }: { source: string }) => source === 'to-deploy'),
        stored,
      );
      assert.equal(listed.length, 4);
      const { body } = await post({ source: 'TO-deploy', content: 'x' });
      assert.equal(runOf(body.workflow_execution_id)?.workflow, 'deploy2');
      assert.deepEqual((await get('/v1/stimuli/routes', 'bob')).body, { routes: [] });
      assert.equal((await remove('to-deploy', 'bob')).status, 404);
      assert.deepEqual((await remove('TO-DEPLOY')).body, { source: 'to-deploy', removed: true });
      const kept = await remove('to-deploy');
      assert.deepEqual([kept.status, kept.body.error], [409, 'failed_precondition']);
      assert.equal((await remove('never')).status, 404);
      assert.equal((await put('x', { workflow: '' })).status, 400);
      assert.equal((await put('x', { workflow: 'w' }, 'reader')).status, 403);
    });

    test('a reader may read stimuli and send none; bad bodies are 400', async () => {
      const refused = await post({ source: 'to-deploy', content: 'x' }, 'reader');
      assert.deepEqual([refused.status, refused.body.error], [403, 'forbidden']);
      assert.equal((await get('/v1/stimuli', 'reader')).status, 200);
      for (const body of [{}, { source: 'x' }, { source: '', content: 'x' }, { source: ' ', content: 'x' }, []]) {
        assert.equal((await post(body)).status, 400, JSON.stringify(body));
      }
      assert.equal((await post({ source: 'x', content: 'x', idempotency_key: '' })).status, 400);
      assert.equal((await post({ source: 'to-deploy', content: 'x'.repeat(2 * 1024 * 1024 + 1) })).status, 413);
    });

    test('every route is in the OpenAPI description', async () => {
      const { paths } = (await at.call('GET', '/v1/openapi.json')).body;
      const described = Object.keys(paths).filter((path) => path.startsWith('/v1/stimuli'));
      const routes = ['/v1/stimuli', '/v1/stimuli/routes', '/v1/stimuli/routes/{source}', '/v1/stimuli/{id}'];
      assert.deepEqual(described.sort(), routes);
      for (const status of ['200', '401', '403', '409', '422', '500']) {
        assert.ok(paths['/v1/stimuli'].post.responses[status], status);
      }
    });
  });
}

test('without a route and a router agent a stimulus is 422 no_router_configured', async () => {
  const [embedded] = AREA_KERNELS;
  const node = await stimulusNode({ start: (embedded ?? assert.fail()).start });
  const at = await restServer({ stimuli: node.stimuli });
  const refused = await at.postJson('/v1/stimuli', { source: 'mail', content: 'x' });
  assert.deepEqual([refused.status, refused.body.error], [422, 'no_router_configured']);
  await at[Symbol.asyncDispose]();
  await node.stop();
});
