import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { OPERATOR } from '../../actors/node-peer/controller.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { IndependentWorker } from './independent-worker.ts';
import { type FleetNode, fleetNode } from './node.ts';
import { encode, eventsOf, PageClient } from './page.ts';

const AGENT = '0d6b3a52-9a3e-4b67-9d44-0d0f6d1f2a01';
const FORWARD = '/svc.cluster.v1.NodeClusterService/ForwardExecution';
const EXECUTE = '/svc.runtime.v1.SvcRuntime/ExecuteAgent';

const manifest = (spec: Readonly<Record<string, unknown>> = {}): string =>
  stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Agent',
    metadata: { name: 'writer', version: '1.0.0', description: 'for a test' },
    spec: { task: { instruction: 'Answer.', prompt_template: '{{input}}' }, ...spec },
  });

/** Events without what differs from run to run: ids and times. */
const comparable = (events: readonly Record<string, unknown>[]): unknown =>
  events.map(({ event, ...members }) => {
    const fields = Object(members[String(event)]);
    return [event, Object.entries(fields).filter(([name]) => !/_id$|_at$/.test(name))];
  });

describe('requests of a controller to a worker', { timeout: 300_000 }, () => {
  let at: FleetNode;
  let client: PageClient;
  let controller: IndependentWorker;
  before(async () => {
    at = await fleetNode();
    client = new PageClient(at.address, undefined, { 'grpc.max_send_message_length': -1 });
    controller = new IndependentWorker('controller-9', client);
    const { publicKeyPem } = controller;
    controller.token = (await at.tokens.issue({ nodeId: 'controller-9', role: 'CONTROLLER', publicKeyPem })).token;
  });
  after(async () => {
    client.close();
    await at[Symbol.asyncDispose]();
  });

  const forward = (fields: Readonly<Record<string, unknown>>, extra: Readonly<Record<string, string>> = {}) => {
    const request = {
      execution_id: randomUUID(),
      agent_id: AGENT,
      manifest_yaml: manifest(),
      input: 'count',
      ...fields,
    };
    const sealed = controller.seal(encode('ForwardExecutionRequest', request));
    return client.stream(FORWARD, sealed, controller.metadata(extra));
  };

  describe('ForwardExecution', () => {
    const runs: readonly [what: string, spec: Record<string, unknown>, code: string][] = [
      ['that succeeds', {}, 'OK'],
      [
        'whose iterations are used up',
        { execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^yes$' }] } },
        'RESOURCE_EXHAUSTED',
      ],
    ];
    for (const [what, spec, code] of runs) {
      test(`streams the events of a run ${what} as ExecuteAgent does, and ends alike`, async () => {
        const yaml = manifest(spec);
        const { agent_id } = await at.agents.deploy(OPERATOR, yaml, { force: true });
        const runtime = new PageClient(at.runtimeAddress);
        const ours = await eventsOf(
          runtime.stream(EXECUTE, encode('ExecuteAgentRequest', { agent_id, input: 'count' })),
        );
        runtime.close();
        const theirs = await eventsOf(forward({ agent_id, manifest_yaml: yaml }));
        assert.deepEqual([ours.code, theirs.code], [code, code], theirs.details);
        assert.equal(theirs.details, ours.details);
        assert.ok(theirs.events.length > 3);
        assert.deepEqual(comparable(theirs.events), comparable(ours.events));
      });
    }

    test('the same execution id again streams the same execution from its first event, while it runs and after', async () => {
      const execution_id = randomUUID();
      const both = await Promise.all([eventsOf(forward({ execution_id })), eventsOf(forward({ execution_id }))]);
      const later = await eventsOf(forward({ execution_id }));
      for (const one of [...both, later]) {
        assert.equal(one.code, 'OK', one.details);
        assert.deepEqual(one.events, later.events);
      }
      assert.equal(Object(later.events[0]?.execution_started).execution_id, execution_id);
      const listed = await waitUntil('the execution is listed', async () => {
        const all = (await at.executions.list('svc-system', { limit: 1_000 })).items;
        const found = all.filter((one) => one.execution_id === execution_id);
        return found.length > 0 && found;
      });
      assert.equal(listed.length, 1);
    });

    test('an execution id of another agent is ALREADY_EXISTS', async () => {
      const execution_id = randomUUID();
      await eventsOf(forward({ execution_id }));
      const other = await eventsOf(forward({ execution_id, agent_id: randomUUID() }));
      assert.deepEqual([other.code, other.events], ['ALREADY_EXISTS', []]);
    });

    test('the same id with another input or context is ALREADY_EXISTS, while it runs, after, and at the same time', async () => {
      const execution_id = randomUUID();
      const context_json = '{"a":1,"b":2}';
      const both = await Promise.all(
        ['one', 'two'].map((input) => eventsOf(forward({ execution_id, input, context_json }))),
      );
      assert.deepEqual(both.map(({ code }) => code).sort(), ['ALREADY_EXISTS', 'OK']);
      const input = both[0]?.code === 'OK' ? 'one' : 'two';
      const again = await eventsOf(forward({ execution_id, input, context_json: '{ "b": 2, "a": 1 }' }));
      assert.equal(again.code, 'OK', 'the order of members is no difference');
      for (const other of [{ input: 'three', context_json }, { input }, { input, context_json: '{"a":2,"b":2}' }]) {
        const refused = await eventsOf(forward({ execution_id, ...other }));
        assert.deepEqual([refused.code, refused.events], ['ALREADY_EXISTS', []]);
        assert.match(refused.details, /another input or context/);
      }
    });

    test('runs in the tenant of x-tenant-id, by default in svc-system, and nowhere else', async () => {
      const execution_id = randomUUID();
      assert.equal((await eventsOf(forward({ execution_id }, { 'x-tenant-id': 'acme' }))).code, 'OK');
      assert.equal((await at.executions.status('acme', execution_id)).status, 'completed');
      await assert.rejects(at.executions.status('svc-system', execution_id), /not found/);
      const walking = await eventsOf(forward({}, { 'x-tenant-id': '../acme' }));
      assert.deepEqual([walking.code, walking.events], ['INVALID_ARGUMENT', []]);
    });

    test('a client that disconnects ends the stream and never the execution', async () => {
      const execution_id = randomUUID();
      const call = forward({ execution_id });
      const over = eventsOf(call);
      call.once('data', () => call.cancel());
      assert.equal((await over).code, 'CANCELLED');
      const again = await eventsOf(forward({ execution_id }));
      assert.equal(again.events.at(-1)?.event, 'execution_completed');
    });

    const malformed: readonly [what: string, fields: Record<string, unknown>, says: RegExp][] = [
      ['an execution that is no UUID', { execution_id: 'mine' }, /execution_id.*UUID/],
      ['no agent', { agent_id: '' }, /agent_id/],
      ['a text that is no manifest', { manifest_yaml: 'a: [' }, /manifest_yaml/],
      [
        'a manifest that breaks a rule',
        { manifest_yaml: manifest({ runtime: { isolation: 'moon' } }) },
        /manifest_yaml.*isolation/,
      ],
      ['a context that is a list', { context_json: '[]' }, /context_json.*JSON object/],
      ['a context that is broken', { context_json: '{' }, /context_json/],
    ];
    for (const [what, fields, says] of malformed) {
      test(`${what} is INVALID_ARGUMENT before anything starts`, async () => {
        const { code, details, events } = await eventsOf(forward(fields));
        assert.deepEqual([code, events], ['INVALID_ARGUMENT', []]);
        assert.match(details, says);
      });
    }

    test('a hybrid’s attested token is PERMISSION_DENIED: as a controller it shows the one it signed itself', async () => {
      const hybrid = new IndependentWorker('hybrid-9', client);
      await hybrid.prove({ role: 2 });
      const request = encode('ForwardExecutionRequest', { execution_id: randomUUID() });
      const answer = await eventsOf(client.stream(FORWARD, hybrid.seal(request), hybrid.metadata()));
      assert.equal(answer.code, 'PERMISSION_DENIED', answer.details);
    });

    test('a worker’s token is PERMISSION_DENIED, none at all and a broken envelope UNAUTHENTICATED', async () => {
      const worker = await new IndependentWorker('worker-9', client).join();
      const request = encode('ForwardExecutionRequest', { execution_id: randomUUID() });
      const asWorker = await eventsOf(client.stream(FORWARD, worker.seal(request), worker.metadata()));
      assert.equal(asWorker.code, 'PERMISSION_DENIED', asWorker.details);
      assert.equal((await eventsOf(client.stream(FORWARD, worker.seal(request)))).code, 'UNAUTHENTICATED');
      const stolen = client.stream(FORWARD, worker.seal(request, controller.token), controller.metadata());
      assert.equal((await eventsOf(stolen)).code, 'UNAUTHENTICATED');
    });
  });

  describe('PushConfig', () => {
    const push = async (config_yaml: string, hash = createHash('sha256').update(config_yaml).digest('hex')) =>
      (await controller.call('PushConfig', { config_yaml, config_hash: hash })).message;

    test('a valid configuration whose hash fits is applied', async () => {
      assert.deepEqual(await push('spec: {a: 1}'), { accepted: true });
      assert.deepEqual(at.applied, ['spec: {a: 1}']);
    });

    test('any other configuration is refused with the reason, and nothing changes', async () => {
      const before = [...at.applied];
      assert.deepEqual(await push('kind: X'), {
        accepted: false,
        rejection_reason: 'spec: required',
        _rejection_reason: 'rejection_reason',
      });
      const hash = createHash('sha256').update('spec: {b: 2}').digest('hex');
      for (const wrong of ['', hash.toUpperCase(), '0'.repeat(64)]) {
        const { accepted, rejection_reason } = await push('spec: {b: 2}', wrong);
        assert.equal(accepted, false);
        assert.match(String(rejection_reason), /config_hash.*SHA-256/);
      }
      assert.deepEqual(at.applied, before);
    });
  });

  test('a controller lists and routes without registering with itself', async () => {
    assert.equal((await controller.call('ListPeers')).code, 'OK');
  });
});
