import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { credentials } from '@grpc/grpc-js';
import { SvcRuntimeClient } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { ended, metadataOf, request } from './call.ts';
import { grpcServer } from './grpc-server.ts';

describe('gRPC calls of a node without an identity provider', () => {
  test('an authority that is not this machine by name is PERMISSION_DENIED', async () => {
    await using it = await grpcServer();
    const codeOf = async (authority: string): Promise<string> => {
      const options = { 'grpc.default_authority': authority };
      const client = new SvcRuntimeClient(it.address, credentials.createInsecure(), options);
      const call = client.executeAgent(request(it.agentId));
      call.once('metadata', () => call.cancel());
      const { code } = await ended(call);
      client.close();
      return code;
    };
    for (const authority of ['0.0.0.0:50051', '[::]:50051', 'evil.example', '10.0.0.7:50051', 'svc.localhost']) {
      assert.equal(await codeOf(authority), 'PERMISSION_DENIED', authority);
    }
    assert.equal(it.executions.starts.length, 0);
    for (const authority of ['localhost:50051', '127.0.0.1:1', '127.1.2.3', '[::1]:50051']) {
      assert.equal(await codeOf(authority), 'CANCELLED', authority);
    }
    assert.equal(it.executions.starts.length, 4);
  });

  test('a call that says it is of a page is PERMISSION_DENIED', async () => {
    await using it = await grpcServer();
    const call = it.client.executeAgent(request(it.agentId), metadataOf({ origin: 'http://127.0.0.1:8080' }));
    assert.equal((await ended(call)).code, 'PERMISSION_DENIED');
    assert.equal(it.executions.starts.length, 0);
  });
});
