import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { grpcClient, restClient, type SealClient } from '../../product/seal/transports.ts';
import { Agent } from './agent.ts';
import { ATTEST_ROWS, type AttestRow, UNKNOWN } from './attest-rows.ts';
import { type Running, type SealServer, sealServer } from './seal-server.ts';

interface Row extends AttestRow {
  readonly running?: (at: SealServer) => Running;
}

/** Rows that need a state of the server. */
const ROWS: readonly Row[] = [
  ...ATTEST_ROWS,
  { what: 'an agent whose execution runs', is: [200, 'OK'] },
  {
    what: 'an execution of another tenant, which answers as one that never existed',
    is: [404, 'NOT_FOUND'],
    message: UNKNOWN,
    running: (at) => at.start('running', 'alpha'),
  },
  {
    what: 'an execution that has ended',
    is: [409, 'FAILED_PRECONDITION'],
    message: /not running/,
    running: (at) => at.start('completed'),
  },
];

describe('AttestAgent and POST /v1/seal/attest, by one table', () => {
  let at: SealServer;
  let clients: readonly SealClient[];
  before(async () => {
    at = await sealServer();
    clients = [restClient(at.restUrl), grpcClient(at.grpcAddress)];
  });
  after(async () => {
    for (const client of clients) client[Symbol.dispose]();
    await at[Symbol.asyncDispose]();
  });

  for (const { what, is, message, running, fields } of ROWS) {
    test(`${what} is ${is[0]} over REST and ${is[1]} over gRPC`, async () => {
      const texts = new Set<string>();
      for (const client of clients) {
        const agent = new Agent(running?.(at) ?? at.start());
        const answer = await client.attest(agent, fields?.(client.transport));
        assert.equal(answer.status, is[client.name === 'REST' ? 0 : 1], `${client.name}: ${answer.message}`);
        assert.equal(answer.token === '', is[0] !== 200);
        if (message !== undefined) assert.match(answer.message, message);
        texts.add(answer.message);
      }
      if (is[0] !== 400) assert.equal(texts.size, 1);
    });
  }

  test('the token is of the session, the execution and the key, and ends with the execution', async () => {
    const agent = await new Agent(at.start()).attest(clients[0] ?? assert.fail());
    const claims = decodeJwt(agent.token);
    const { executionId, tenant } = agent.running;
    assert.deepEqual(
      [claims.exec_id, claims.wid, claims.tenant_id, claims.security_context, claims.scp],
      [executionId, executionId, tenant, 'test', 'test'],
    );
    assert.deepEqual(claims.cnf, {
      jwk: { kty: 'OKP', crv: 'Ed25519', x: agent.publicKey.export({ format: 'jwk' }).x },
    });
    assert.ok((claims.exp ?? 0) * 1_000 <= Date.now() + 600_000);
  });

  test('each attestation opens a session of its own, with its own ids', async () => {
    const running = at.start();
    const [client = assert.fail()] = clients;
    const [one, two] = [await new Agent(running).attest(client), await new Agent(running).attest(client)];
    assert.notEqual(one.sessionId, two.sessionId);
    assert.deepEqual(running.sessions, [one.sessionId, two.sessionId]);
    at.runs.length = 0;
    for (const agent of [one, two]) {
      const { status } = await client.invoke(agent.call(1, 'fs.read', { path: '/workspace/a' }));
      assert.equal(status, 200);
    }
    assert.equal(at.runs.length, 2);
  });

  test('an execution that ends while its agent attests leaves no session open', async () => {
    const { attestation } = at.seal;
    const running = at.start();
    const attest = attestation.attest.bind(attestation);
    const racing = {
      attest: async (...args: Parameters<typeof attest>) => {
        const answer = await attest(...args);
        const address = `tool-session/${running.tenant}/${args[1].sessionId}` as const;
        await at.kernel.runtime.client.tell(address, 'Close', { reason: 'the execution failed' });
        return answer;
      },
    };
    Object.assign(attestation, racing);
    const agent = new Agent(running);
    for (const client of clients) {
      const { status, token } = await client.attest(agent);
      assert.deepEqual([status, token], [client.name === 'REST' ? 409 : 'FAILED_PRECONDITION', '']);
    }
    Object.assign(attestation, { attest });
  });
});
