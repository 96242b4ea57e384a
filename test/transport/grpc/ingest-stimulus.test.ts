import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import type { IngestStimulusRequest } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import { stimulusNode } from '../../actors/stimulus/stimulus-node.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AREA_KERNELS } from '../rest/area-kernel.ts';
import { FakeCatalog } from '../rest/fake-catalog.ts';
import { FakeExecutions } from '../rest/fake-executions.ts';
import { namedUsers } from '../rest/rest-server.ts';
import { clientOf, metadataOf, text, unary } from './call.ts';

/** The area on the embedded stores behind a gRPC server on a real socket. */
async function setup(settings: { router_agent?: string } = {}) {
  const configured = ['deploy', 'strict', 'broken'].map((workflow) => ({
    source: workflow,
    workflow,
    tenant: 'alice',
  }));
  const [embedded] = AREA_KERNELS;
  const { start } = embedded ?? assert.fail();
  const node = await stimulusNode({ start, configured, settings: { ...settings, classification_timeout_secs: 1 } });
  const server = createGrpcServer({
    agents: new FakeCatalog(),
    executions: new FakeExecutions(),
    stimuli: node.stimuli,
    authenticator: namedUsers,
    auth: { enabled: true, exempt_methods: [] },
    logger: pino({ level: 'silent' }),
    version: '0.0.1-test',
    health: { ready: async () => ({ ready: true }) },
    limits: { closeGraceMs: 500 },
  });
  const client = clientOf(await server.listen('127.0.0.1', 0));
  return {
    node,
    client,
    ingest: (request: Partial<IngestStimulusRequest>, user = 'alice') =>
      unary((callback) =>
        client.ingestStimulus(
          { source_name: 'deploy', content: 'x', headers: {}, ...request },
          metadataOf({ authorization: `Bearer ${user}` }),
          callback,
        ),
      ),
    async close() {
      client.close();
      await server.close();
      await node.stop();
    },
  };
}

describe('IngestStimulus', () => {
  let at: Awaited<ReturnType<typeof setup>>;
  before(async () => {
    at = await setup({ router_agent: 'router' });
  });
  after(() => at.close());

  test('OK: routed and started, in the tenant of the caller, without headers that carry secrets', async () => {
    const headers = { 'X-Event': 'push', Authorization: 'hidden' };
    const { code, answer } = await at.ingest({ content: '{"a":1}', headers });
    assert.equal(code, 'OK');
    const [run] = at.node.started;
    const { stimulus_id, workflow_execution_id } = Object(answer);
    assert.equal(run?.execution_id, workflow_execution_id);
    assert.deepEqual(run?.blackboard, {
      stimulus: { id: stimulus_id, source: 'deploy', headers: { 'x-event': 'push' } },
    });
    assert.deepEqual([run?.identity.tenant, run?.input], ['alice', { a: 1 }]);
  });

  test('ALREADY_EXISTS: a repeated key names the first stimulus in trailer, details and text', async () => {
    const first = Object((await at.ingest({ idempotency_key: 'k1' })).answer);
    const repeated = await at.ingest({ idempotency_key: 'k1' });
    assert.equal(repeated.code, 'ALREADY_EXISTS');
    assert.equal(text(repeated.metadata, 'svc-stimulus-id'), first.stimulus_id);
    assert.equal(text(repeated.metadata, 'svc-error-code'), 'idempotent_duplicate');
    const details = repeated.metadata?.get('grpc-status-details-bin')[0]?.toString() ?? '';
    for (const id of [first.stimulus_id, first.workflow_execution_id]) assert.ok(details.includes(id));
    assert.ok(repeated.details.includes(first.stimulus_id));
    assert.equal((await at.ingest({ idempotency_key: 'k1' }, 'bob')).code, 'INTERNAL', 'no key of another tenant');
    assert.equal((await at.ingest({ idempotency_key: '' })).code, 'OK', 'an empty key is none');
  });

  test('INVALID_ARGUMENT: confidence too low, input that does not fit, no source', async () => {
    at.node.router.says = JSON.stringify({ workflow: 'deploy', confidence: 0.5, reasoning: 'unsure' });
    const unsure = await at.ingest({ source_name: 'mail' });
    assert.deepEqual(
      [unsure.code, text(unsure.metadata, 'svc-error-code')],
      ['INVALID_ARGUMENT', 'classification_failed'],
    );
    assert.equal((await at.ingest({ source_name: 'strict' })).code, 'INVALID_ARGUMENT');
    assert.equal((await at.ingest({ source_name: ' ' })).code, 'INVALID_ARGUMENT');
  });

  test('content of 262,145 bytes and up to 2 MiB starts its run with all of it; more is INVALID_ARGUMENT', async () => {
    const json = (bytes: number): string => JSON.stringify({ of: 'x'.repeat(bytes - 9) });
    for (const bytes of [262_145, 2 * 1024 * 1024]) {
      const { code, details, answer } = await at.ingest({ content: json(bytes) });
      assert.equal(code, 'OK', details);
      const { workflow_execution_id: id } = Object(answer);
      const run = at.node.started.find(({ execution_id }) => execution_id === id);
      assert.equal(Object(run?.input).of?.length, bytes - 9);
    }
    const over = await at.ingest({ content: json(2 * 1024 * 1024 + 1) });
    assert.deepEqual([over.code, text(over.metadata, 'svc-error-code')], ['INVALID_ARGUMENT', 'payload_too_large']);
  });

  test('INTERNAL: the router agent or the workflow fails', async () => {
    at.node.router.says = { status: 'failed', reason: 'model_failed' };
    assert.equal((await at.ingest({ source_name: 'mail' })).code, 'INTERNAL');
    assert.equal((await at.ingest({ source_name: 'broken' })).code, 'INTERNAL');
  });

  test('PERMISSION_DENIED for a reader, UNAUTHENTICATED without a token', async () => {
    assert.equal((await at.ingest({}, 'reader')).code, 'PERMISSION_DENIED');
    assert.equal((await at.ingest({}, 'nobody')).code, 'UNAUTHENTICATED');
  });

  test('a caller that cancels ends its waiting and not the stimulus', async () => {
    at.node.router.says = 'silent';
    const asked = at.node.asked.length;
    const metadata = metadataOf({ authorization: 'Bearer alice' });
    const request = { source_name: 'mail', content: 'left alone', headers: {} };
    const call = at.client.ingestStimulus(request, metadata, () => {});
    const router = await waitUntil('the router is asked', () => at.node.asked[asked]);
    call.cancel();
    await at.node.say(router, JSON.stringify({ workflow: 'deploy', confidence: 1, reasoning: 'sure' }));
    await waitUntil('it runs', () => at.node.started.some(({ intent }) => intent === 'left alone'));
  });
});

test('INVALID_ARGUMENT: no route and no router agent', async () => {
  const at = await setup();
  const refused = await at.ingest({ source_name: 'mail' });
  assert.deepEqual(
    [refused.code, text(refused.metadata, 'svc-error-code')],
    ['INVALID_ARGUMENT', 'no_router_configured'],
  );
  await at.close();
});
