import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { SvcRuntimeClient } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { arrival, clientOf, ended, metadataOf, request, text } from './call.ts';
import { manifest, node, type TestNode } from './node.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('ExecuteAgent on a whole node', () => {
  let at: TestNode;
  let client: SvcRuntimeClient;
  let agentId: string;
  before(async () => {
    at = await node();
    client = clientOf(at.address);
    agentId = await at.deploy(manifest('writer'));
    await at.deploy(
      manifest('picky', {
        execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^yes$' }] },
      }),
    );
  });
  after(async () => {
    client.close();
    await at[Symbol.asyncDispose]();
  });

  const restEvents = async (id: string, lastEventId = 0): Promise<{ id: number; event: Record<string, unknown> }[]> => {
    const response = await fetch(`${at.restUrl}/v1/executions/${id}/stream`, {
      headers: { 'last-event-id': String(lastEventId) },
    });
    assert.equal(response.status, 200);
    return [...(await response.text()).matchAll(/^id: (\d+)\ndata: (.*)$/gm)].map(([, number, data]) => ({
      id: Number(number),
      event: JSON.parse(data ?? ''),
    }));
  };

  test('streams the recorded events, the same as REST serves, and ends OK', async () => {
    at.script({ chunks: ['Hel', 'lo'], delayMs: 5 });
    const run = await ended(client.executeAgent(request(agentId)));
    assert.equal(run.code, 'OK');
    const names = run.events.map(({ $case }) => $case);
    assert.equal(names[0], 'execution_started');
    assert.equal(names[1], 'iteration_started');
    assert.ok(names.includes('iteration_output'));
    assert.deepEqual(names.slice(-2), ['iteration_completed', 'execution_completed']);
    const last = run.events.at(-1);
    assert.ok(last?.$case === 'execution_completed');
    assert.equal(last.value.final_output, 'Hello');
    assert.equal(last.value.total_iterations, 1);
    const executionId = text(run.first, 'svc-execution-id') ?? '';
    assert.match(executionId, UUID);
    assert.equal(last.value.execution_id, executionId);
    const rest = await restEvents(executionId);
    assert.deepEqual(
      run.events.map(({ $case, value }) => ({ [$case]: value })),
      rest.map(({ event }) => event),
    );
    assert.deepEqual(
      rest.map(({ id }) => id),
      run.events.map((_, index) => index + 1),
    );
  });

  test('takes an agent by name, and by a UUID in any case', async () => {
    at.script({ chunks: ['ok'] });
    for (const id of ['writer', agentId.toUpperCase()]) {
      assert.equal((await ended(client.executeAgent(request(id)))).code, 'OK', id);
    }
  });

  test('a run without an accepted iteration ends RESOURCE_EXHAUSTED after its last event', async () => {
    at.script({ chunks: ['no'] }, { chunks: ['never'] });
    const run = await ended(client.executeAgent(request('picky')));
    assert.equal(run.code, 'RESOURCE_EXHAUSTED');
    assert.match(run.status.details, /max_iterations_exceeded/);
    assert.equal(text(run.status.metadata, 'svc-error-code'), 'max_iterations_exceeded');
    const last = run.events.at(-1);
    assert.ok(last?.$case === 'execution_failed');
    assert.equal(last.value.reason, 'max_iterations_exceeded');
    assert.equal(last.value.total_iterations, 2);
    const failed = run.events.find(({ $case }) => $case === 'iteration_failed');
    assert.ok(failed?.$case === 'iteration_failed');
    assert.equal(failed.value.error?.error_type, 'validation_failed');
    assert.equal(failed.value.error?.stacktrace, undefined);
    const refined = run.events.find(({ $case }) => $case === 'refinement_applied');
    assert.ok(refined?.$case === 'refinement_applied');
  });

  test('context_json fills the prompt template', async () => {
    const id = await at.deploy(manifest('templated', { task: { prompt_template: 'Say {{who}}: {{input}}' } }));
    at.script({ chunks: ['ok'] });
    const run = await ended(client.executeAgent(request(id, 'hi', { context_json: '{"who":"Ada"}' })));
    assert.equal(run.code, 'OK');
    assert.match(JSON.stringify(at.modelCalls[0]?.body), /Say Ada: hi/);
  });

  test('security_policy shortens the run, and a run that fails for such a reason ends OK: the event says it', async () => {
    at.script({ silent: true });
    const security_policy = {
      network_policy: undefined,
      filesystem_policy: { read_paths: ['/workspace/**'], write_paths: [] },
      resource_limits: { cpu_millicores: 0, memory_bytes: 0, timeout_seconds: 1 },
    };
    const run = await ended(client.executeAgent(request(agentId, 'hi', { security_policy })));
    const last = run.events.at(-1);
    assert.ok(last?.$case === 'execution_failed');
    assert.equal(last.value.reason, 'timed_out');
    assert.equal(run.code, 'DEADLINE_EXCEEDED');
    assert.match(run.status.details, /^timed_out: the execution took longer than \d+ ms$/);
  });

  const refused: readonly [what: string, ask: ReturnType<typeof request>, code: string, field: RegExp][] = [
    ['an unknown UUID', request(UNKNOWN), 'NOT_FOUND', /agent not found|No such thing/i],
    ['an unknown name', request('nobody'), 'NOT_FOUND', /agent not found|No such thing/i],
    ['no agent', request(''), 'INVALID_ARGUMENT', /agent_id/],
    ['a name that is too long', request('a'.repeat(300)), 'INVALID_ARGUMENT', /agent_id/],
    ['broken JSON', request('writer', 'x', { context_json: '{' }), 'INVALID_ARGUMENT', /context_json/],
    ['a JSON list', request('writer', 'x', { context_json: '[]' }), 'INVALID_ARGUMENT', /context_json.*JSON object/],
    ['JSON null', request('writer', 'x', { context_json: 'null' }), 'INVALID_ARGUMENT', /context_json.*JSON object/],
    [
      'deep JSON',
      request('writer', 'x', { context_json: `{"a":${'['.repeat(200)}${']'.repeat(200)}}` }),
      'INVALID_ARGUMENT',
      /context_json.*nested/,
    ],
    [
      'large JSON',
      request('writer', 'x', { context_json: JSON.stringify({ a: 'x'.repeat(2 * 1024 * 1024) }) }),
      'INVALID_ARGUMENT',
      /context_json.*bytes/,
    ],
    ['a large input', request('writer', 'x'.repeat(2 * 1024 * 1024)), 'INVALID_ARGUMENT', /./],
    [
      'a workflow that is no UUID',
      request('writer', 'x', { workflow_execution_id: 'mine' }),
      'INVALID_ARGUMENT',
      /workflow_execution_id.*UUID/,
    ],
  ];
  for (const [what, ask, code, says] of refused) {
    test(`${what} is ${code} before anything starts`, async () => {
      const run = await ended(client.executeAgent(ask));
      assert.equal(run.code, code);
      assert.match(run.status.details, says);
      assert.deepEqual(run.events, []);
      assert.ok((text(run.status.metadata, 'svc-error-code') ?? '') !== '');
    });
  }

  test('carries the trace of the caller, in the first metadata and in errors', async () => {
    at.script({ chunks: ['ok'] });
    const trace = 'ab'.repeat(16);
    const metadata = metadataOf({ traceparent: `00-${trace}-${'cd'.repeat(8)}-01` });
    const good = await ended(client.executeAgent(request('writer'), metadata));
    assert.equal(text(good.first, 'traceparent')?.slice(3, 35), trace);
    const bad = await ended(client.executeAgent(request('nobody'), metadata));
    assert.equal(text(bad.status.metadata, 'traceparent')?.slice(3, 35), trace);
  });

  test('the same idempotency-key streams the same execution', async () => {
    at.script({ chunks: ['once'] });
    const metadata = metadataOf({ 'idempotency-key': 'order-17' });
    const one = await ended(client.executeAgent(request('writer'), metadata));
    const again = await ended(client.executeAgent(request('writer'), metadata));
    assert.deepEqual(again.events, one.events);
    assert.equal(at.modelCalls.length, 1);
    const other = await ended(client.executeAgent(request('picky'), metadata));
    assert.equal(other.code, 'ALREADY_EXISTS');
  });

  test('a cancelled call ends the stream and never the execution; REST serves the rest', async () => {
    at.script({ chunks: ['a', 'b', 'c', 'd', 'e', 'f'], delayMs: 60 });
    const call = client.executeAgent(request('writer'));
    const started = await arrival(call, 'execution_started');
    assert.ok(started.$case === 'execution_started');
    const over = ended(call);
    call.cancel();
    assert.equal((await over).code, 'CANCELLED');
    const rest = await restEvents(started.value.execution_id, 1);
    assert.equal(rest[0]?.id, 2);
    const last = rest.at(-1)?.event.execution_completed;
    assert.ok(last !== undefined, JSON.stringify(rest.at(-1)));
    assert.equal(Object(last).final_output, 'abcdef');
  });

  test('a deadline ends the stream and never the execution', async () => {
    // The deadline leaves a busy machine the time to start the run and to send its id.
    at.script({ chunks: ['slow', 'ly'], delayMs: 1_200 });
    const call = client.executeAgent(request('writer'), metadataOf({}), { deadline: Date.now() + 1_500 });
    const run = await ended(call);
    assert.equal(run.code, 'DEADLINE_EXCEEDED');
    const id = text(run.first, 'svc-execution-id') ?? '';
    const rest = await restEvents(id);
    assert.ok(rest.at(-1)?.event.execution_completed !== undefined);
  });

  test('closing the node ends open streams with UNAVAILABLE and says how to go on', async () => {
    at.script({ silent: true });
    const call = client.executeAgent(request('writer'));
    await arrival(call, 'iteration_started');
    await waitUntil('the model was asked', () => at.modelCalls.length > 0);
    const over = ended(call);
    await at.stopNode();
    const run = await over;
    assert.equal(run.code, 'UNAVAILABLE');
    assert.match(run.status.details, /\/v1\/executions\/[0-9a-f-]{36}\/stream/);
  });
});
