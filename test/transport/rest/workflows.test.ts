import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../../support/wait-until.ts';
import { AREA_KERNELS, type AreaKernel } from './area-kernel.ts';
import { namedUsers, restServer } from './rest-server.ts';
import { WORKFLOW_ACTORS, workflowParts } from './workflow-area.ts';

const manifest = (name: string, version = '1.0.0') => `apiVersion: svc.dev/v1
kind: Workflow
metadata:
  name: ${name}
  version: "${version}"
  input_schema: {type: object, required: [who], properties: {who: {type: string, maxLength: 20}, times: {type: integer, minimum: 1, default: 2}}}
spec:
  initial_state: NOTE
  states:
    NOTE: {kind: System, command: update_blackboard, env: {who: "{{input.who}}"}, transitions: [{target: GATE}]}
    GATE:
      kind: Human
      prompt: Ship for {{blackboard.who}}?
      timeout: 1h
      transitions: [{condition: input_equals_yes, target: DONE}, {target: STOP}]
    DONE: {kind: System, command: finalize, env: {shipped: "{{blackboard.who}}"}, transitions: []}
    STOP: {kind: System, command: finalize, env: {shipped: nobody}, transitions: []}
`;

const as = (user: string) => ({ authorization: `Bearer ${user}` });
const RUNS = '/v1/workflows/executions';

for (const { name: store, missing, start } of AREA_KERNELS) {
  describe(`workflows over REST, ${store}`, { skip: missing ?? false }, () => {
    let kernel: AreaKernel;
    let at: Awaited<ReturnType<typeof restServer>>;
    before(async () => {
      kernel = await start({ definitions: WORKFLOW_ACTORS });
      at = await restServer({
        ...(await workflowParts(kernel)),
        authenticator: namedUsers,
        limits: { heartbeatMs: 100 },
      });
    });
    after(async () => {
      await at[Symbol.asyncDispose]();
      await kernel.stop();
    });

    let count = 0;
    const fresh = () => {
      count += 1;
      return `flow-${count}`;
    };
    const get = (path: string, user = 'alice') => at.call('GET', path, { headers: as(user) });
    const post = (path: string, body: unknown, user = 'alice', headers = {}) =>
      at.postJson(path, body, { ...as(user), ...headers });
    const drop = (path: string, user = 'alice') => at.call('DELETE', path, { headers: as(user) });
    const deploy = (text: string, query = '', user = 'alice') =>
      at.call('POST', `/v1/workflows${query}`, {
        body: text,
        headers: { ...as(user), 'content-type': 'application/yaml' },
      });
    const deployed = async () => {
      const name = fresh();
      const { status, body } = await deploy(manifest(name));
      assert.equal(status, 200, JSON.stringify(body));
      return { name, id: String(body.workflow_id) };
    };
    const run = async (name: string) => {
      const { status, body } = await post(`/v1/workflows/${name}/run`, { intent: 'ship it', input: { who: 'zoe' } });
      assert.equal(status, 200, JSON.stringify(body));
      return String(body.execution_id);
    };
    const waiting = (id: string) =>
      waitUntil('it waits for its approval', async () => {
        const { body } = await get(`${RUNS}/${id}`);
        return body.status === 'waiting_for_human_input' ? body : undefined;
      });

    test('a manifest is deployed as YAML or JSON, once a version, and is returned unchanged', async () => {
      const name = fresh();
      const first = await deploy(manifest(name));
      assert.deepEqual([first.status, first.body.deployed, first.body.warnings], [200, true, []]);
      const again = await deploy(manifest(name));
      assert.deepEqual([again.status, again.body.error], [409, 'conflict']);
      assert.equal((await deploy(manifest(name), '?force')).body.workflow_id, first.body.workflow_id);
      const second = await post('/v1/workflows', { manifest_yaml: manifest(name, '1.1.0'), force: false });
      assert.equal(second.body.workflow_id, first.body.workflow_id);
      const shown = await get(`/v1/workflows/${name}`);
      assert.deepEqual(
        [shown.body.id, shown.body.version, shown.body.scope],
        [first.body.workflow_id, '1.1.0', 'tenant'],
      );
      const exported = await get(`/v1/workflows/${name}/export?version=1.0.0`);
      assert.deepEqual(
        [exported.text, exported.headers.get('content-type')],
        [manifest(name), 'application/yaml; charset=utf-8'],
      );
      const { body } = await get(`/v1/workflows/${name}/versions`);
      assert.deepEqual(
        body.versions.map(({ version }: { version: string }) => version),
        ['1.1.0', '1.0.0'],
      );
      assert.deepEqual((await drop(`/v1/workflows/${name}`)).body, {
        workflow_id: first.body.workflow_id,
        deleted: true,
      });
      assert.equal((await get(`/v1/workflows/${name}`)).status, 404);
    });

    test('a manifest that breaks rules is 422 with path and line, and validate suggests fixes', async () => {
      const bad = manifest(fresh()).replace('target: GATE', 'target: GAET');
      const { status, body } = await deploy(bad);
      assert.deepEqual([status, body.error, body.details[0].line], [422, 'invalid_manifest', 10]);
      const checked = await post('/v1/workflows/validate', { manifest_yaml: bad }, 'reader');
      assert.deepEqual([checked.status, checked.body.valid], [200, false]);
      const [finding] = checked.body.findings;
      assert.deepEqual([finding.severity, finding.line], ['error', 10]);
      assert.ok(finding.rule !== '' && finding.cure !== '');
      const good = await at.call('POST', '/v1/workflows/validate', {
        body: manifest('sound'),
        headers: { ...as('alice'), 'content-type': 'application/yaml' },
      });
      assert.deepEqual(good.body.metadata, { name: 'sound', version: '1.0.0', initial_state: 'NOTE' });
      assert.equal((await post('/v1/workflows', { force: true })).status, 400);
    });

    test('a template or expression that can never be read refuses the deploy, with the place', async () => {
      for (const [from, to, path, rule] of [
        ['env: {shipped: nobody}', "env: {shipped: '{{#if x}}'}", 'spec.states.STOP.env.shipped', 'template_syntax'],
        [
          '{condition: input_equals_yes, target: DONE}',
          "{condition: custom, expression: '( 1 ==', target: DONE}",
          'spec.states.GATE.transitions[0].expression',
          'expression_syntax',
        ],
      ] as const) {
        const bad = manifest(fresh()).replace(from, to);
        const { status, body } = await deploy(bad);
        assert.deepEqual([status, body.error, body.details[0].path], [422, 'invalid_manifest', path]);
        const { findings, valid } = (await post('/v1/workflows/validate', { manifest_yaml: bad })).body;
        assert.deepEqual([valid, findings.map((one: { rule: string }) => one.rule)], [false, [rule]]);
      }
    });

    test('an input that does not fit is 422 with path and message, and nothing is created', async () => {
      const { name, id } = await deployed();
      for (const input of [{}, { who: 7 }, { who: 'x'.repeat(21) }]) {
        const refused = await post(`/v1/workflows/${name}/run`, { input });
        assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed']);
        assert.match(refused.body.details[0].path, /^input/);
        assert.notEqual(refused.body.details[0].message, '');
      }
      assert.equal((await get(`${RUNS}?workflow_id=${id}`)).body.total, 0);
      assert.equal((await post('/v1/workflows/nobody/run', {})).status, 404);
    });

    test('an input that is no object is 422 where there is a schema, and taken where there is none', async () => {
      const { name } = await deployed();
      const free = await at.call('POST', '/v1/workflows', {
        body: manifest('free-form').replace(/^ *input_schema:.*\n/m, ''),
        headers: { ...as('alice'), 'content-type': 'application/yaml' },
      });
      assert.equal(free.status, 200, free.text);
      for (const input of [[], ['a'], 'text', 7, null]) {
        const refused = await post(`/v1/workflows/${name}/run`, { input });
        assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed'], JSON.stringify(input));
        const taken = await post('/v1/workflows/free-form/run', { input });
        assert.equal(taken.status, 200, taken.text);
        const run = await get(`${RUNS}/${taken.body.execution_id}`);
        assert.deepEqual(run.body.input, input);
      }
    });

    test('an approval is listed at the moment when the run says that it waits for it', async () => {
      const { name } = await deployed();
      for (let runs = 0; runs < 5; runs += 1) {
        const id = await run(name);
        const { waiting_for } = await waiting(id);
        const { body } = await get('/v1/human-approvals');
        const pending = body.pending_requests.map((one: { id: string }) => one.id);
        assert.ok(pending.includes(waiting_for.approval_id), `${waiting_for.approval_id}`);
        await post(`${RUNS}/${id}/cancel`, {});
      }
    });

    test('a run waits for its approval, says so, is signalled once, and completes', async () => {
      const { name, id } = await deployed();
      const runId = await run(name);
      const { waiting_for, current_state, intent, input } = await waiting(runId);
      assert.deepEqual([waiting_for.kind, waiting_for.state_name, current_state], ['approval', 'GATE', 'GATE']);
      // The default of the schema is part of what the run was given.
      assert.deepEqual([intent, input], ['ship it', { who: 'zoe', times: 2 }]);
      const signals = await Promise.all(
        Array.from({ length: 10 }, () => post(`${RUNS}/${runId}/signal`, { response: 'yes' })),
      );
      assert.deepEqual(signals.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 409)]);
      assert.deepEqual(signals.find(({ status }) => status === 200)?.body, { signalled: true, execution_id: runId });
      const done = await waitUntil('it completes', async () => {
        const { body } = await get(`${RUNS}/${runId}`);
        return body.status === 'completed' ? body : undefined;
      });
      assert.deepEqual(done.output, { shipped: 'zoe' });
      assert.equal(done.waiting_for, undefined);
      const listed = await waitUntil('the list has caught up', async () => {
        const { body } = await get(`${RUNS}?workflow_id=${name}&status=completed&limit=5`);
        return body.total === 1 ? body : undefined;
      });
      assert.deepEqual([listed.executions[0].execution_id, listed.executions[0].workflow_id], [runId, id]);
      const log = await get(`${RUNS}/${runId}/logs?limit=2&offset=1`);
      assert.deepEqual([log.body.events.length, log.body.events[0].sequence, log.body.limit], [2, 2, 2]);
    });

    test('the stream has every event in order, resumes behind one, and ends with 204', async () => {
      const { name } = await deployed();
      const runId = await run(name);
      await waiting(runId);
      const reading = get(`${RUNS}/${runId}/stream`);
      assert.equal((await post(`${RUNS}/${runId}/signal`, { response: 'no' })).status, 200);
      const { text, headers } = await reading;
      assert.match(headers.get('content-type') ?? '', /^text\/event-stream/);
      const records = [...text.matchAll(/^id: (\d+)\ndata: (.+)$/gm)];
      const names = records.map(([, , data = '{}']) => Object.keys(JSON.parse(data))[0]);
      assert.deepEqual(
        records.map(([, seq]) => Number(seq)),
        records.map((_, index) => index + 1),
      );
      assert.deepEqual([names.at(0), names.at(-1)], ['WorkflowExecutionStarted', 'WorkflowExecutionCompleted']);
      const rest = await get(`${RUNS}/${runId}/logs/stream?last_event_id=${records.length - 1}`);
      assert.equal([...rest.text.matchAll(/^id: /gm)].length, 1);
      const last = { ...as('alice'), 'last-event-id': String(records.length) };
      assert.equal((await at.call('GET', `${RUNS}/${runId}/stream`, { headers: last })).status, 204);
      const html = { ...as('alice'), accept: 'text/html' };
      const refused = await at.call('GET', `${RUNS}/${runId}/stream`, { headers: html });
      assert.deepEqual([refused.status, refused.body.error], [406, 'not_acceptable']);
    });

    test('cancel ends a run, only then it is removed, and each of both works once', async () => {
      const { name } = await deployed();
      const runId = await run(name);
      await waiting(runId);
      assert.equal((await drop(`${RUNS}/${runId}`)).status, 409);
      assert.deepEqual((await post(`${RUNS}/${runId}/cancel`, {})).body, { execution_id: runId, cancelled: true });
      assert.equal((await post(`${RUNS}/${runId}/cancel`, {})).status, 409);
      assert.equal((await post(`${RUNS}/${runId}/signal`, { response: 'yes' })).status, 409);
      assert.deepEqual((await drop(`${RUNS}/${runId}`)).body, { execution_id: runId, removed: true });
      for (const path of ['', '/logs', '/stream']) {
        const { status, body } = await get(`${RUNS}/${runId}${path}`);
        assert.deepEqual([status, body], [404, { error: 'not_found', message: 'workflow execution not found' }]);
      }
    });

    test('the same idempotency key starts one run; for another workflow it is 409', async () => {
      const [one, other] = [await deployed(), await deployed()];
      const key = { 'idempotency-key': randomUUID() };
      const start = (of: string) => post(`/v1/workflows/${of}/run`, { input: { who: 'zoe' } }, 'alice', key);
      const answers = await Promise.all(Array.from({ length: 10 }, () => start(one.name)));
      assert.equal(new Set(answers.map(({ status, body }) => `${status} ${body.execution_id}`)).size, 1);
      assert.equal((await start(one.id)).body.execution_id, answers[0]?.body.execution_id);
      assert.equal((await start(other.name)).status, 409);
    });

    test('readers read, users run, and another tenant sees nothing', async () => {
      const { name, id } = await deployed();
      const runId = await run(name);
      for (const path of [`/v1/workflows/${id}`, `${RUNS}/${runId}`, `${RUNS}/${runId}/logs`])
        assert.equal((await get(path, 'bob')).status, 404, path);
      assert.equal((await get('/v1/workflows', 'reader')).status, 200);
      for (const [path, body] of [
        ['/v1/workflows', { manifest_yaml: 'x' }],
        [`/v1/workflows/${name}/run`, {}],
        [`/v1/workflows/${name}/scope`, { action: 'promote' }],
        [`${RUNS}/${runId}/signal`, { response: 'yes' }],
        [`${RUNS}/${runId}/cancel`, {}],
      ] as const)
        assert.equal((await post(path, body, 'reader')).status, 403, path);
      assert.equal((await drop(`/v1/workflows/${name}`, 'reader')).status, 403);
      assert.equal((await post('/v1/workflows', { manifest_yaml: 'x' }, 'consumer')).status, 403);
    });

    test('an operator makes a workflow global for all, and takes it back; a tenant’s administrator may not', async () => {
      const name = fresh();
      const { body } = await deploy(manifest(name), '?scope=tenant', 'operator');
      assert.equal((await deploy(manifest(name), '?scope=global')).status, 403);
      assert.equal((await get(`/v1/workflows/${name}`)).status, 404);
      const up = await post(`/v1/workflows/${name}/scope`, { action: 'promote' }, 'operator');
      assert.deepEqual(up.body, { workflow_id: body.workflow_id, name, promoted: true, target_scope: 'global' });
      assert.equal((await get(`/v1/workflows/${name}`)).body.scope, 'global');
      const names = async (query: string) =>
        (await get(`/v1/workflows${query}`)).body.workflows.map((one: { name: string }) => one.name);
      assert.ok((await names('?scope=visible')).includes(name) && !(await names('')).includes(name));
      await run(name);
      assert.equal((await drop(`/v1/workflows/${name}`)).status, 403);
      const wrong = await post(`/v1/workflows/${name}/scope`, { action: 'demote', target_scope: 'global' }, 'operator');
      assert.equal(wrong.status, 400);
      const down = await post(`/v1/workflows/${name}/scope`, { action: 'demote' }, 'operator');
      assert.deepEqual([down.status, down.body.demoted], [200, true]);
      assert.equal((await get(`/v1/workflows/${name}`)).status, 404);
    });

    test('static paths have priority over names, and every route is described', async () => {
      for (const name of ['executions', 'validate']) assert.equal((await deploy(manifest(name))).status, 200);
      assert.ok(Array.isArray((await get(RUNS)).body.executions));
      assert.equal((await get(`${RUNS}/not-a-uuid`)).status, 400);
      const { body } = await at.call('GET', '/v1/openapi.json');
      const paths = Object.keys(body.paths).filter((path) => path.startsWith('/v1/workflows'));
      assert.equal(paths.length, 14, paths.join('\n'));
      const operations = paths.flatMap((path) => Object.values<{ summary?: string }>(body.paths[path]));
      assert.equal(operations.length, 18);
      for (const operation of operations) assert.ok(operation.summary);
    });
  });
}
