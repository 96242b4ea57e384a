import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { grpcurl, grpcurlMissing } from '../../support/grpcurl.ts';
import { type FleetNode, fleetNode } from './node.ts';

const missing = grpcurlMissing();
if (missing !== null) {
  if (process.env.CI === 'true') throw new Error(missing);
  console.error(`SKIPPED: ${missing}`);
}

const SERVICE = 'svc.cluster.v1.NodeClusterService';

describe('grpcurl on the cluster port, by reflection alone', { skip: missing ?? false }, () => {
  let at: FleetNode;
  before(async () => {
    at = await fleetNode();
  });
  after(() => at[Symbol.asyncDispose]());

  test('lists this service and the standard ones, and not the one of the other port', async () => {
    const { stdout, stderr } = await grpcurl(at.address, 'list');
    assert.deepEqual(
      stdout
        .trim()
        .split('\n')
        .filter((name) => !name.startsWith('grpc.reflection')),
      ['grpc.health.v1.Health', SERVICE],
      stderr,
    );
    const other = await grpcurl(at.runtimeAddress, 'list');
    assert.ok(!other.stdout.includes(SERVICE), other.stdout);
  });

  test('describes the methods and the messages that travel in envelopes', async () => {
    const method = await grpcurl(at.address, 'describe', `${SERVICE}.ForwardExecution`);
    assert.match(
      method.stdout,
      /\.svc\.cluster\.v1\.SealNodeEnvelope \) returns \( stream \.svc\.runtime\.v1\.ExecutionEvent/,
    );
    const sealed = await grpcurl(at.address, 'describe', 'svc.cluster.v1.HeartbeatRequest');
    assert.match(sealed.stdout, /\.svc\.cluster\.v1\.NodePeerStatus status = 5;/, sealed.stderr);
  });

  test('calls a method and shows why it was refused', async () => {
    const asked = JSON.stringify({ node_id: 'a', public_key_pem: 'none', role: 'WORKER' });
    const { stderr, exitCode } = await grpcurl('-d', asked, at.address, `${SERVICE}/AttestNode`);
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /InvalidArgument/);
    assert.match(stderr, /public_key_pem: expected an Ed25519 public key/);
  });

  test('checks health', async () => {
    for (const service of ['', SERVICE]) {
      const asked = JSON.stringify({ service });
      const { stdout, stderr } = await grpcurl('-d', asked, at.address, 'grpc.health.v1.Health/Check');
      assert.match(stdout, /"status": "SERVING"/, stderr);
    }
    const unknown = JSON.stringify({ service: 'svc.runtime.v1.SvcRuntime' });
    const { stderr } = await grpcurl('-d', unknown, at.address, 'grpc.health.v1.Health/Check');
    assert.match(stderr, /NotFound/);
  });
});
