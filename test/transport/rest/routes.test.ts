import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { MANIFEST, namedUsers, restServer, UNKNOWN } from './rest-server.ts';

const yaml = { 'content-type': 'application/yaml' };

describe('health', () => {
  it('says ok as specified, and 503 with a reason while the node is not ready', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    assert.deepEqual((await at.call('GET', '/health')).body, { status: 'ok' });
    assert.deepEqual((await at.call('GET', '/health/live')).body, { status: 'ok' });
    assert.deepEqual((await at.call('GET', '/health/ready')).body, { status: 'ready' });
    at.readiness.now = { ready: false, why: 'the store does not answer' };
    const down = await at.call('GET', '/health/ready');
    assert.equal(down.status, 503);
    assert.deepEqual(down.body, { error: 'unavailable', message: 'the store does not answer' });
    assert.equal(down.headers.get('retry-after'), '1');
    assert.equal((await at.call('GET', '/health')).status, 200);
  });
});

describe('HEAD', () => {
  it('is answered like GET with the same headers and no body', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    for (const path of ['/health', '/v1/agents', '/v1/nothing', '/v1/executions/x/cancel']) {
      const [got, head] = [await at.call('GET', path), await fetch(`${at.base}${path}`, { method: 'HEAD' })];
      const of = ({ status, headers }: Pick<Response, 'status' | 'headers'>) =>
        ['content-type', 'content-length', 'allow'].reduce((all, name) => `${all} ${headers.get(name)}`, `${status}`);
      assert.equal(of(head), of(got), path);
      assert.equal(await head.text(), '', path);
    }
    assert.equal((await at.call('GET', '/health')).status, 200);
  });
});

describe('agents', () => {
  it('deploys YAML and JSON, refuses a second without force, takes it with force', async () => {
    await using at = await restServer();
    const first = await at.call('POST', '/v1/agents', { body: MANIFEST, headers: yaml });
    assert.equal(first.status, 200);
    assert.deepEqual(first.body, { agent_id: at.agents.rows[0]?.agent_id, deployed: true });
    const second = await at.call('POST', '/v1/agents', { body: MANIFEST, headers: yaml });
    assert.equal(second.status, 409);
    assert.deepEqual(second.body, { error: 'conflict', message: 'agent writer 1.0.0 exists' });
    for (const query of ['?force=true', '?force']) {
      assert.equal((await at.call('POST', `/v1/agents${query}`, { body: MANIFEST, headers: yaml })).status, 200, query);
    }
    assert.equal((await at.postJson('/v1/agents', { manifest_yaml: MANIFEST })).status, 409);
    assert.equal((await at.postJson('/v1/agents', { manifest_yaml: MANIFEST, force: true })).status, 200);
  });

  it('an invalid manifest is 422 with path and line', async () => {
    await using at = await restServer();
    const refused = await at.call('POST', '/v1/agents', { body: 'a: 1', headers: yaml });
    assert.equal(refused.status, 422);
    assert.equal(refused.body.error, 'invalid_manifest');
    assert.deepEqual(refused.body.details, [{ path: 'metadata.name', line: 1, message: 'is missing' }]);
  });

  it('validate says what a deploy would, as YAML or JSON, and deploys nothing', async () => {
    await using at = await restServer();
    const whole = MANIFEST.replace(
      'metadata',
      'apiVersion: svc.dev/v1\nkind: Agent\nspec: { task: { instruction: Write. } }\nmetadata',
    );
    const wrong = await at.postJson('/v1/agents/validate', {
      manifest_yaml: whole.replace('name: writer', 'name: A B'),
    });
    const [finding] = wrong.body.findings;
    assert.deepEqual(
      [wrong.status, wrong.body.valid, finding.severity, finding.path],
      [200, false, 'error', 'metadata.name'],
    );
    const right = await at.call('POST', '/v1/agents/validate', { body: whole, headers: yaml });
    assert.deepEqual([right.status, right.body.valid, right.body.metadata.name], [200, true, 'writer']);
    assert.deepEqual((await at.call('GET', '/v1/agents')).body, { agents: [] });
    assert.equal((await at.postJson('/v1/agents/validate', { force: true })).status, 400);
  });

  it('looks up, lists, shows, exports and deletes', async () => {
    await using at = await restServer();
    const id = await at.deployed();
    const summary = (await at.call('GET', '/v1/agents/lookup/writer')).body;
    assert.deepEqual([summary.agent_id, summary.name, summary.tenant_id], [id, 'writer', 'svc-system']);
    assert.deepEqual((await at.call('GET', '/v1/agents')).body, { agents: [summary] });
    assert.deepEqual((await at.call('GET', '/v1/agents?skip=1')).body, { agents: [] });
    assert.deepEqual((await at.call('GET', `/v1/agents/${id}/versions`)).body, { versions: [summary] });
    const shown = (await at.call('GET', `/v1/agents/${id.toUpperCase()}`)).body;
    assert.equal(shown.manifest_yaml, MANIFEST);
    assert.equal(shown.manifest.metadata.name, 'writer');
    const exported = await at.call('GET', `/v1/agents/${id}/export`);
    assert.equal(exported.headers.get('content-type'), 'application/yaml; charset=utf-8');
    assert.equal(exported.text, MANIFEST);
    const logs = (await at.call('GET', `/v1/agents/${id}/logs?limit=999`)).body;
    assert.deepEqual([logs.total, logs.limit, logs.offset, logs.events[0].event_type], [1, 200, 0, 'AgentDeployed']);
    assert.deepEqual((await at.call('DELETE', `/v1/agents/${id}`)).body, { agent_id: id, deleted: true });
    assert.equal((await at.call('GET', `/v1/agents/${id}`)).status, 404);
  });

  it('answers unknown and malformed ids with the specified texts alone', async () => {
    await using at = await restServer();
    const notFound = { error: 'agent not found' };
    assert.deepEqual((await at.call('GET', '/v1/agents/lookup/nobody')).body, notFound);
    for (const rest of ['', '/versions', '/export', '/logs']) {
      const unknown = await at.call('GET', `/v1/agents/${UNKNOWN}${rest}`);
      assert.deepEqual([unknown.status, unknown.body], [404, notFound], rest);
      const malformed = await at.call('GET', `/v1/agents/xyz${rest}`);
      assert.deepEqual([malformed.status, malformed.body], [400, { error: 'invalid agent id' }], rest);
    }
    assert.deepEqual((await at.call('DELETE', `/v1/agents/${UNKNOWN}`)).body, notFound);
  });
});

describe('executions', () => {
  it('starts an execution and answers its id', async () => {
    await using at = await restServer();
    const agent_id = await at.deployed();
    const started = await at.postJson('/v1/executions', { agent_id, input: 'hi', context: { a: [1] } });
    assert.equal(started.status, 200);
    assert.deepEqual(Object.keys(started.body), ['execution_id']);
    const { request } = at.executions.starts[0] ?? assert.fail('nothing was started');
    assert.deepEqual([request.agentId, request.input, request.context], [agent_id, 'hi', { a: [1] }]);
    assert.equal(request.identity.kind, 'local');
  });

  const bodies: [string, unknown, number, object][] = [
    ['an id that is no UUID', { agent_id: 'x', input: 'hi' }, 400, { error: 'invalid agent id' }],
    ['an id that is a number', { agent_id: 7, input: 'hi' }, 400, { error: 'invalid agent id' }],
    ['no id', { input: 'hi' }, 400, { error: 'invalid agent id' }],
    ['an unknown id', { agent_id: UNKNOWN, input: 'hi' }, 404, { error: 'agent not found' }],
  ];
  for (const [title, body, status, answer] of bodies) {
    it(`a start with ${title} is ${status}`, async () => {
      await using at = await restServer();
      const refused = await at.postJson('/v1/executions', body);
      assert.deepEqual([refused.status, refused.body], [status, answer]);
    });
  }

  it('names each field that is wrong and what was expected', async () => {
    await using at = await restServer();
    const refused = await at.postJson('/v1/executions', { agent_id: UNKNOWN, input: 7 });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error, /^body\.input: .*expected text/);
    assert.equal(refused.body.details[0].path, 'body.input');
    for (const body of [null, [], 'x', undefined]) {
      assert.equal((await at.postJson('/v1/executions', body)).status, 400, JSON.stringify(body));
    }
  });

  it('a failure of ours is 500 with the specified text and without its cause', async () => {
    await using at = await restServer();
    const agent_id = await at.deployed();
    at.executions.failure = new Error('password=hunter2');
    const failed = await at.postJson('/v1/executions', { agent_id, input: 'hi' });
    assert.deepEqual([failed.status, failed.body], [500, { error: 'execution failed to start', code: 'internal' }]);
  });

  it('an execution that cannot run here is 500 with its text, as the specification says, and its code', async () => {
    await using at = await restServer();
    const agent_id = await at.deployed();
    for (const code of ['unsupported_isolation', 'unimplemented', 'invalid_manifest'] as const) {
      at.executions.failure = new SvcError(code, 'no such thing here');
      const failed = await at.postJson('/v1/executions', { agent_id, input: 'hi' });
      assert.deepEqual([failed.status, failed.body], [500, { error: 'no such thing here', code }]);
    }
    at.executions.failure = new SvcError('rate_limited', 'too many');
    const refused = await at.postJson('/v1/executions', { agent_id, input: 'hi' });
    assert.deepEqual([refused.status, refused.body], [429, { error: 'rate_limited', message: 'too many' }]);
  });

  it('takes an agent by its name wherever it takes its id; a name of none is the fixed text', async () => {
    await using at = await restServer();
    const agent_id = await at.deployed();
    for (const path of ['', '/versions', '/export', '/logs']) {
      const [byName, byId] = [
        await at.call('GET', `/v1/agents/writer${path}`),
        await at.call('GET', `/v1/agents/${agent_id}${path}`),
      ];
      assert.deepEqual([byName.status, byName.text], [200, byId.text], path);
    }
    const started = await at.postJson('/v1/executions', { agent_id: 'writer', input: 'hi' });
    assert.equal(started.status, 200, started.text);
    assert.equal((await at.postJson('/v1/agents/writer/execute', {})).status, 200);
    const listed = await at.call('GET', '/v1/executions?agent_id=writer');
    assert.equal(listed.body.executions.length, 2);
    const unknown = await at.call('GET', '/v1/agents/nobody');
    assert.deepEqual([unknown.status, unknown.body], [400, { error: 'invalid agent id' }]);
  });

  it('an unknown member of a body is refused by its name', async () => {
    await using at = await restServer();
    const agent_id = await at.deployed();
    const refused = await at.postJson('/v1/executions', { agent_id, input: 'hi', inputt: 'typo' });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error, /inputt/);
  });

  it('the same Idempotency-Key starts one execution, in each tenant its own', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    const as = async (user: string) => {
      const headers = { authorization: `Bearer ${user}` };
      const deployed = await at.postJson('/v1/agents', { manifest_yaml: MANIFEST, force: true }, headers);
      const { agent_id } = deployed.body;
      const key = { ...headers, 'idempotency-key': 'order-7' };
      return (await at.postJson('/v1/executions', { agent_id, input: 'hi' }, key)).body.execution_id;
    };
    const [first, both] = [await as('alice'), await Promise.all([as('alice'), as('alice')])];
    assert.deepEqual(both, [first, first]);
    assert.match(first, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(at.executions.runs.size, 1);
    assert.notEqual(await as('bob'), first);
  });

  it('calls at the same time with one key start one execution', async () => {
    await using at = await restServer();
    const body = { agent_id: await at.deployed(), input: 'hi' };
    const calls = Array.from({ length: 8 }, () => at.postJson('/v1/executions', body, { 'idempotency-key': 'k' }));
    const ids = new Set((await Promise.all(calls)).map((answer) => answer.body.execution_id));
    assert.equal(ids.size, 1);
    assert.equal(at.executions.runs.size, 1);
  });

  it('a key that started an execution of another agent is 409, a malformed one 400', async () => {
    await using at = await restServer();
    const key = { 'idempotency-key': 'k' };
    await at.postJson('/v1/executions', { agent_id: await at.deployed(), input: 'hi' }, key);
    const other = await at.postJson('/v1/agents', { manifest_yaml: 'name: other' });
    const refused = await at.postJson('/v1/executions', { agent_id: other.body.agent_id, input: 'hi' }, key);
    assert.deepEqual([refused.status, refused.body.error], [409, 'conflict']);
    const malformed = await at.postJson(
      '/v1/executions',
      { agent_id: await at.deployed(), input: 'hi' },
      { 'idempotency-key': 'a b' },
    );
    assert.equal(malformed.status, 400);
  });

  it('shows, lists, pages the log, cancels and removes', async () => {
    await using at = await restServer();
    const id = await at.startRun();
    for (const n of [1, 2, 3]) at.executions.emit(id, 'iteration_output', { iteration_number: 1, output: `o${n}` });
    assert.equal((await at.call('GET', `/v1/executions/${id}`)).body.status, 'running');
    assert.equal((await at.call('GET', '/v1/executions?status=running&limit=5')).body.executions.length, 1);
    assert.deepEqual((await at.call('GET', '/v1/executions?status=failed')).body, { executions: [] });
    const page = (await at.call('GET', `/v1/executions/${id}/events?limit=2&offset=1`)).body;
    assert.deepEqual([page.status, page.total, page.limit, page.offset], ['running', 3, 2, 1]);
    assert.deepEqual(
      page.events.map((event: { sequence: number; payload: { output: string } }) => [
        event.sequence,
        event.payload.output,
      ]),
      [
        [2, 'o2'],
        [3, 'o3'],
      ],
    );
    const early = await at.call('DELETE', `/v1/executions/${id}`);
    assert.deepEqual([early.status, early.body.error], [409, 'failed_precondition']);
    const cancelled = await at.call('POST', `/v1/executions/${id}/cancel`);
    assert.deepEqual(cancelled.body, { execution_id: id, cancelled: true });
    const again = await at.call('POST', `/v1/executions/${id}/cancel`);
    assert.deepEqual([again.status, again.body.error], [409, 'failed_precondition']);
    assert.deepEqual((await at.call('DELETE', `/v1/executions/${id}`)).body, { execution_id: id, removed: true });
    assert.equal((await at.call('GET', `/v1/executions/${id}`)).status, 404);
  });

  it('unknown and malformed ids have one answer on every route', async () => {
    await using at = await restServer();
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/events'],
      ['GET', '/stream'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const) {
      const unknown = await at.call(method, `/v1/executions/${UNKNOWN}${rest}`);
      assert.deepEqual([unknown.status, unknown.body], [404, { error: 'execution not found' }], method + rest);
      const malformed = await at.call(method, `/v1/executions/xyz${rest}`);
      assert.deepEqual([malformed.status, malformed.body], [400, { error: 'invalid execution id' }], method + rest);
    }
  });

  it('a query that is no whole number in range is 400 and says so', async () => {
    await using at = await restServer();
    for (const query of [
      'limit=0',
      'limit=-1',
      'limit=0x10',
      'limit=',
      'limit=1.5',
      'limit=1&limit=2',
      'skip=x',
      'status=done',
    ]) {
      const refused = await at.call('GET', `/v1/executions?${query}`);
      assert.equal(refused.status, 400, query);
      assert.match(refused.body.error, /^querystring\.(limit|skip|status): /, query);
    }
  });
});
