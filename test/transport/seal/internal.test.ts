import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { pino } from 'pino';
import { SvcError } from '../../../runtime/errors.ts';
import { createExecutionTokens } from '../../../security/seal/agent-tokens.ts';
import type { GrpcServer } from '../../../transport/grpc/endpoint.ts';
import { createInternalGrpcServer } from '../../../transport/grpc/inner-loop/server.ts';
import { internalSealMethods } from '../../../transport/grpc/seal-methods.ts';
import { createInternalServer } from '../../../transport/internal/server.ts';
import type { RestApp } from '../../../transport/rest/parts.ts';
import { addSealRoutes } from '../../../transport/rest/routes/seal.ts';
import type { DispatchApi } from '../../../usecases/gateway.ts';
import { grpcClient, restClient } from '../../product/seal/transports.ts';
import { namedUsers } from '../rest/rest-server.ts';
import { Agent, bearer } from './agent.ts';
import { type Running, type SealServer, sealServer } from './seal-server.ts';

const READ = { path: '/workspace/a.txt' };
const none = async (): Promise<never> => {
  throw new SvcError('unimplemented');
};
const dispatch: DispatchApi = { generate: none, dispatchResult: none };

describe('SEAL on the internal address', () => {
  let at: SealServer;
  let app: RestApp;
  let url: string;
  let grpc: GrpcServer;
  let grpcAddress: string;
  let tokenFor: (running: Running) => Promise<string>;
  before(async () => {
    // The public address requires a bearer token, which an agent does not have.
    at = await sealServer({ authenticator: namedUsers });
    const tokens = createExecutionTokens(at.signing);
    tokenFor = ({ tenant, executionId }) => tokens.issue({ tenant, executionId, expiresAt: Date.now() + 60_000 });
    app = createInternalServer({
      dispatch,
      tokens,
      logger: pino({ level: 'silent' }),
      addSealRoutes: (scope) => addSealRoutes(scope, at.seal, { bearer: false, tokens }),
    });
    const logger = pino({ level: 'silent' });
    const health = { ready: async () => ({ ready: true as const }) };
    const methods = internalSealMethods({ logger, tokens }, at.seal);
    grpc = createInternalGrpcServer({ dispatch, tokens, logger, health, seal: methods, limits: { closeGraceMs: 500 } });
    grpcAddress = await grpc.listen('127.0.0.1', 0);
    await app.listen({ port: 0, host: '127.0.0.1' });
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  });
  after(async () => {
    await app.close();
    await grpc.close();
    await at[Symbol.asyncDispose]();
  });

  test('an agent attests below the address it was given, and calls without a bearer', async () => {
    const running = at.start('running', 'alice');
    const client = restClient(`${url}/x/${await tokenFor(running)}`);
    const agent = await new Agent(running).attest(client);
    assert.equal((await client.invoke(agent.call(1, 'fs.read', READ))).status, 200);
    assert.equal((await restClient(url).invoke(agent.call(2, 'fs.read', READ))).status, 200);
    const tools = await fetch(`${url}/v1/seal/tools`, { headers: { authorization: `Bearer ${agent.token}` } });
    assert.equal(tools.status, 200);
  });

  test('without the token of its execution no agent attests, and a token gives access to its own execution alone', async () => {
    const [one, two] = [at.start('running', 'alice'), at.start('running', 'alice')];
    const agent = new Agent(one);
    const bare = await restClient(url).attest(agent);
    assert.deepEqual([bare.status, bare.token], [401, '']);
    const forged = await restClient(`${url}/x/a.b.c`).attest(agent);
    assert.equal(forged.status, 401);
    const others = restClient(`${url}/x/${await tokenFor(two)}`);
    assert.equal((await others.attest(agent)).status, 403);
    await agent.attest(restClient(`${url}/x/${await tokenFor(one)}`));
    const { status, reason } = await others.invoke(agent.call(1, 'fs.read', READ));
    assert.deepEqual([status, reason], [403, 'SessionInactive']);
  });

  test('the same holds over gRPC, where the token is metadata', async () => {
    const [one, two] = [at.start('running', 'alice'), at.start('running', 'alice')];
    using client = grpcClient(grpcAddress);
    const agent = new Agent(one);
    assert.equal((await client.attest(agent)).status, 'UNAUTHENTICATED');
    assert.equal((await client.attest(agent, {}, bearer(await tokenFor(two)))).status, 'PERMISSION_DENIED');
    await agent.attest(client, bearer(await tokenFor(one)));
    assert.equal((await client.invoke(agent.call(1, 'fs.read', READ))).status, 'OK');
    assert.equal((await client.invoke(agent.call(2, 'fs.read', READ), bearer(await tokenFor(one)))).status, 'OK');
    const { status, reason } = await client.invoke(agent.call(3, 'fs.read', READ), bearer(await tokenFor(two)));
    assert.deepEqual([status, reason], ['PERMISSION_DENIED', 'SessionInactive']);
  });

  test('the session routes for people are not served here', async () => {
    for (const path of ['/v1/seal/sessions', '/v1/agents']) assert.equal((await fetch(url + path)).status, 404);
  });

  test('without a bearer an envelope has at most 1 MiB, announced or not', async () => {
    const running = at.start('running', 'alice');
    const large = new Blob([JSON.stringify({ payload: 'x'.repeat(1024 * 1024) })]);
    const send = async (base: string, body: Blob | ReadableStream) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, duplex: 'half' } as const;
      return (await fetch(`${base}/v1/seal/invoke`, init)).status;
    };
    assert.deepEqual([await send(url, large), await send(url, large.stream())], [413, 413]);
    // The token of an execution identifies the caller, so the envelope is parsed, and is invalid.
    assert.equal(await send(`${url}/x/${await tokenFor(running)}`, large), 400);
    assert.equal(await send(`${url}/x/a.b.c`, large), 401);
  });

  test('of a large envelope without a bearer the token is checked before anything is parsed', async () => {
    const running = at.start('running', 'alice');
    const client = restClient(`${url}/x/${await tokenFor(running)}`);
    const agent = await new Agent(running).attest(client);
    const send = async (token: string) => {
      // The body is no JSON: a 400 shows that it was parsed.
      const body = `{"payload":{"security_token":"x"},"security_token": "${token}","a":["${'x'.repeat(8_192)}",}`;
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/seal/invoke`, { method: 'POST', headers, body });
      return [answer.status, JSON.parse(await answer.text()).error.code];
    };
    assert.deepEqual(await send('x'), [401, -32000]);
    assert.deepEqual(await send(agent.token), [400, -32600]);
  });

  test('no body, however odd, is an error of the node', async () => {
    const fields = fc.constantFrom(
      '',
      'a.b.c',
      'seal/v1',
      'AAAA',
      'é\u0000\ud800',
      new Date().toISOString(),
      7,
      null,
      {},
      [],
    );
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record({ protocol: fields, security_token: fields, signature: fields, payload: fields, timestamp: fields }),
      fc.record({ agent_id: fields, execution_id: fields, container_id: fields, agent_public_key: fields }),
    );
    const paths = fc.constantFrom('/v1/seal/attest', '/v1/seal/invoke', '/v1/invoke');
    await fc.assert(
      fc.asyncProperty(paths, body, async (path, value) => {
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(value) });
        const text = await response.text();
        assert.ok([400, 401].includes(response.status), `${response.status} ${text}`);
        assert.ok(path === '/v1/seal/attest' || JSON.parse(text).jsonrpc === '2.0', text);
      }),
      { numRuns: 300 },
    );
  });
});
