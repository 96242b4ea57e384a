import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { grpcurl, grpcurlMissing } from '../../support/grpcurl.ts';
import { manifest, node, type TestNode } from './node.ts';

const missing = grpcurlMissing();
if (missing !== null) {
  if (process.env.CI === 'true') throw new Error(missing);
  console.error(`SKIPPED: ${missing}`);
}

/** A client in another language that has only the address. */
describe('grpcurl, by reflection alone', { skip: missing ?? false }, () => {
  let at: TestNode;
  before(async () => {
    at = await node();
    await at.deploy(manifest('writer'));
  });
  after(() => at[Symbol.asyncDispose]());

  test('lists the services', async () => {
    const { stdout, exitCode } = await grpcurl(at.address, 'list');
    assert.equal(exitCode, 0);
    const services = stdout.trim().split('\n');
    assert.ok(services.includes('svc.runtime.v1.SvcRuntime'), stdout);
    assert.ok(services.includes('grpc.health.v1.Health'), stdout);
  });

  for (const version of ['v1', 'v1alpha']) {
    test(`answers reflection ${version}`, async () => {
      const { stdout, exitCode, stderr } = await grpcurl(
        '-d',
        JSON.stringify({ list_services: '' }),
        '-import-path',
        `node_modules/@grpc/reflection/build/proto/grpc/reflection/${version}`,
        '-proto',
        'reflection.proto',
        at.address,
        `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      );
      assert.equal(exitCode, 0, stderr);
      assert.match(stdout, /svc\.runtime\.v1\.SvcRuntime/);
    });
  }

  test('describes a method and its messages, with field numbers', async () => {
    const method = await grpcurl(at.address, 'describe', 'svc.runtime.v1.SvcRuntime.ExecuteAgent');
    assert.match(method.stdout, /rpc ExecuteAgent \( \.svc\.runtime\.v1\.ExecuteAgentRequest \) returns \( stream/);
    const message = await grpcurl(at.address, 'describe', 'svc.runtime.v1.ExecuteAgentRequest');
    assert.match(message.stdout, /optional string workflow_execution_id = 5;/);
    const maps = await grpcurl(at.address, 'describe', 'svc.runtime.v1.IngestStimulusRequest');
    assert.match(maps.stdout, /map<string, string> headers = 4;/);
    assert.match(message.stdout, /UUID or name of a deployed agent\./, 'comments come along');
  });

  test('runs ExecuteAgent and shows the stream', async () => {
    at.script({ chunks: ['Hel', 'lo'], delayMs: 5 });
    const data = JSON.stringify({ agent_id: 'writer', input: 'hi' });
    const run = await grpcurl('-v', '-d', data, at.address, 'svc.runtime.v1.SvcRuntime/ExecuteAgent');
    assert.equal(run.exitCode, 0, run.stderr);
    for (const shown of [/svc-execution-id: [0-9a-f-]{36}/, /"executionStarted"/, /"finalOutput": "Hello"/]) {
      assert.match(run.stdout, shown);
    }
  });

  test('shows code, text and details of a refused request', async () => {
    const data = JSON.stringify({ agent_id: 'writer', input: 'hi', context_json: '[]' });
    const run = await grpcurl('-d', data, at.address, 'svc.runtime.v1.SvcRuntime/ExecuteAgent');
    assert.notEqual(run.exitCode, 0);
    assert.match(run.stderr, /InvalidArgument/);
    assert.match(run.stderr, /context_json: expected a JSON object/);
  });

  test('checks health', async () => {
    const { stdout, stderr } = await grpcurl(at.address, 'grpc.health.v1.Health/Check');
    assert.match(stdout, /"status": "SERVING"/, stderr);
  });
});
