import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { compactVerify, importJWK } from 'jose';
import { z } from 'zod';
import { AuditExport, recordHash } from '../../../manifests/audit/record.ts';
import { grpcClient, restClient, type SealClient } from '../../product/seal/transports.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { namedUsers } from '../rest/rest-server.ts';
import { Agent, bearer } from './agent.ts';
import { type SealServer, said, sealServer } from './seal-server.ts';

const Body = z.looseObject({
  count: z.number().optional(),
  total: z.number().optional(),
  tool: z.string().optional(),
  sessions: z.array(z.looseObject({ status: z.string() })).optional(),
  tools: z.array(z.looseObject({})).optional(),
});

const READ = { path: '/workspace/a.txt' };

describe('calls of a session', () => {
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

  test('the same envelope again is answered from the record, over either transport, and the tool runs once', async () => {
    let n = 0;
    at.told.answer = async () => said(`run ${++n}`);
    for (const [first, second] of [clients, clients.toReversed()]) {
      const agent = await new Agent(at.start()).attest(first ?? assert.fail());
      at.runs.length = 0;
      n = 0;
      const envelope = agent.call(1, 'fs.write', { ...READ, content: 'x' });
      for (const client of [first, second, first])
        assert.equal((await client?.invoke(envelope))?.result?.text, 'run 1');
      assert.equal(at.runs.length, 1);
    }
  });

  test('ten concurrent repeats get one answer of one run', async () => {
    const release = Promise.withResolvers<void>();
    at.told.answer = async () => {
      await release.promise;
      return said('slow');
    };
    const [client = assert.fail()] = clients;
    const agent = await new Agent(at.start()).attest(client);
    at.runs.length = 0;
    const envelope = agent.call(1, 'fs.read', READ);
    const answers = Array.from({ length: 10 }, (_, n) => (clients[n % 2] ?? client).invoke(envelope));
    await waitUntil('the tool runs', () => at.runs.length > 0);
    release.resolve();
    for (const { result } of await Promise.all(answers)) assert.equal(result?.text, 'slow');
    assert.equal(at.runs.length, 1);
  });

  test('a caller that goes away does not end its call: the same id asks for the result', async () => {
    const release = Promise.withResolvers<void>();
    at.told.answer = async () => {
      await release.promise;
      return said('after all');
    };
    const [client = assert.fail()] = clients;
    const agent = await new Agent(at.start()).attest(client);
    at.runs.length = 0;
    const { payload, ...envelope } = agent.call(1, 'fs.read', READ);
    const leaving = new AbortController();
    const left = fetch(`${at.restUrl}/v1/seal/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...envelope, payload: payload.toString('base64') }),
      signal: leaving.signal,
    });
    await waitUntil('the tool runs', () => at.runs.length > 0);
    leaving.abort();
    await assert.rejects(left);
    release.resolve();
    assert.equal((await client.invoke({ ...envelope, payload })).result?.text, 'after all');
    assert.equal(at.runs.length, 1);
  });

  test('a payload that is an object is signed in its canonical form', async () => {
    const [client = assert.fail()] = clients;
    const agent = await new Agent(at.start()).attest(client);
    at.told.answer = async () => said('read');
    const canonical =
      '{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"path":"/workspace/ä"},"name":"fs.read"}}';
    const { payload: _bytes, ...envelope } = agent.seal(canonical);
    const sent = {
      params: { name: 'fs.read', arguments: { path: '/workspace/ä' } },
      method: 'tools/call',
      jsonrpc: '2.0',
      id: 1,
    };
    const response = await fetch(`${at.restUrl}/v1/seal/invoke`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...envelope, payload: sent }),
    });
    assert.equal(response.status, 200, await response.text());
  });

  test('a body that is no envelope is a JSON-RPC error that names the field', async () => {
    for (const [body, field] of [
      ['{', /JSON/],
      ['[]', /object/],
      [{}, /protocol/],
      [{ protocol: 'seal/v1', security_token: 't', signature: 's', payload: 7, timestamp: 't' }, /payload/],
      [{ protocol: 'seal/v1', security_token: 't', signature: 's', payload: '', timestamp: 't', extra: 1 }, /extra/],
    ] as const) {
      const response = await fetch(`${at.restUrl}/v1/invoke`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      const text = await response.text();
      assert.equal(response.status, 400, text);
      assert.equal(JSON.parse(text).error.code, -32600);
      assert.match(text, field);
    }
  });

  test('a revoked session accepts no further call, at once', async () => {
    for (const client of clients) {
      const agent = await new Agent(at.start()).attest(client);
      const revoked = await fetch(`${at.restUrl}/v1/seal/sessions/${agent.sessionId}/revoke`, { method: 'POST' });
      assert.deepEqual(await revoked.json(), { session_id: agent.sessionId, status: 'revoked' });
      const answer = await client.invoke(agent.call(1, 'fs.read', READ));
      assert.deepEqual(
        [answer.status, answer.reason],
        [client.name === 'REST' ? 403 : 'PERMISSION_DENIED', 'SessionInactive'],
      );
    }
  });

  test('an execution that ends stops the calls of its sessions', async () => {
    at.told.answer = (_run, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    for (const client of clients) {
      const agent = await new Agent(at.start()).attest(client);
      at.runs.length = 0;
      const answer = client.invoke(agent.call(1, 'cmd.run', { command: 'git', args: ['status'] }));
      await waitUntil('the command runs', () => at.runs.length > 0);
      const address = `tool-session/${agent.running.tenant}/${agent.sessionId}` as const;
      await at.kernel.runtime.client.tell(address, 'Close', { reason: 'the execution is cancelled' });
      assert.equal((await answer).reason, 'SessionInactive');
      const records = await at.sessions.audit(agent.running.tenant, agent.sessionId);
      assert.deepEqual(
        records.map(({ body }) => body.kind),
        ['opened', 'decided', 'ended', 'closed'],
      );
    }
  });

  const get = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(at.restUrl + path, { headers });
    return { status: response.status, body: Body.parse(await response.json()) };
  };

  test('the chain is exported whole, live and after the archive took it, with a head that the node signed', async () => {
    const [client = assert.fail()] = clients;
    at.told.answer = async () => said('read');
    const agent = await new Agent(at.start()).attest(client);
    await client.invoke(agent.call(1, 'fs.read', READ));
    const path = `/v1/seal/sessions/${agent.sessionId}/audit`;
    const live = AuditExport.parse((await get(path)).body);
    assert.deepEqual([live.session_id, live.tenant, live.records.length], [agent.sessionId, 'svc-system', 3]);
    const address = `tool-session/svc-system/${agent.sessionId}` as const;
    await at.kernel.runtime.client.ask(address, 'Close', { reason: 'over' });
    await waitUntil(
      'the archive took it',
      async () => (await at.kernel.runtime.client.read(address))?.archived === true,
    );
    const { records, head } = AuditExport.parse((await get(path)).body);
    assert.equal(records.length, 4);
    for (const record of records) assert.equal(record.hash, recordHash(record));
    const [jwk = assert.fail()] = await at.keys.publicKeys();
    const { payload } = await compactVerify(head, await importJWK(jwk, 'RS256'));
    const signed: unknown = JSON.parse(Buffer.from(payload).toString());
    const { sequence, hash } = z.object({ sequence: z.number(), hash: z.string() }).parse(signed);
    assert.deepEqual([sequence, hash], [4, records[3]?.hash]);
  });

  test('sessions are listed by execution, shown, and unknown ones are 404', async () => {
    const running = at.start();
    const [client = assert.fail()] = clients;
    const agent = await new Agent(running).attest(client);
    const listed = await waitUntil('the list shows it', async () => {
      const { body } = await get(`/v1/seal/sessions?execution_id=${running.executionId.toUpperCase()}`);
      return body.count === 1 ? body.sessions?.[0] : undefined;
    });
    assert.deepEqual(listed, (await get(`/v1/seal/sessions/${agent.sessionId}`)).body);
    assert.equal(listed.status, 'active');
    for (const rest of ['', '/audit']) {
      assert.equal((await get(`/v1/seal/sessions/${randomUUID()}${rest}`)).status, 404);
    }
    assert.equal((await get('/v1/seal/sessions/nobody')).status, 400);
    const revoke = await fetch(`${at.restUrl}/v1/seal/sessions/${randomUUID()}/revoke`, { method: 'POST' });
    assert.equal(revoke.status, 404);
  });

  test('an agent lists its tools by its own token', async () => {
    const [client = assert.fail()] = clients;
    const agent = await new Agent(at.start()).attest(client);
    const { body } = await get('/v1/seal/tools', { authorization: `Bearer ${agent.token}` });
    assert.equal(body.tool, 'svc.tools.list');
    assert.equal(body.total, 5);
    assert.deepEqual(Object.keys(body.tools?.[0] ?? {}), [
      'name',
      'description',
      'source',
      'skip_judge',
      'input_schema',
    ]);
    assert.equal((await get('/v1/seal/tools')).status, 401);
    assert.equal((await get('/v1/seal/tools', { authorization: 'Bearer a.b.c' })).status, 401);
    await at.sessions.revoke(
      { kind: 'local', subject: 'l', tenant: 'svc-system', roles: [], tier: 'free' },
      agent.sessionId,
    );
    assert.equal((await get('/v1/seal/tools', { authorization: `Bearer ${agent.token}` })).status, 403);
  });
});

describe('behind an identity provider', () => {
  let at: SealServer;
  let clients: readonly SealClient[];
  before(async () => {
    at = await sealServer({ authenticator: namedUsers });
    clients = [restClient(at.restUrl), grpcClient(at.grpcAddress)];
  });
  after(async () => {
    for (const client of clients) client[Symbol.dispose]();
    await at[Symbol.asyncDispose]();
  });

  test('attest and invoke need the bearer and a role that may run', async () => {
    for (const client of clients) {
      const rest = client.name === 'REST';
      const agent = await new Agent(at.start('running', 'alice')).attest(client, bearer('alice'));
      const envelope = agent.call(1, 'fs.read', READ);
      assert.equal((await client.invoke(envelope)).status, rest ? 401 : 'UNAUTHENTICATED');
      assert.equal((await client.invoke(envelope, bearer('reader'))).status, rest ? 403 : 'PERMISSION_DENIED');
      assert.equal((await client.attest(agent)).status, rest ? 401 : 'UNAUTHENTICATED');
      assert.equal((await client.attest(agent, {}, bearer('reader'))).status, rest ? 403 : 'PERMISSION_DENIED');
      assert.equal((await client.invoke(envelope, bearer('alice'))).status, rest ? 200 : 'OK');
    }
  });

  test('a bearer of another tenant reaches no session, and none of its executions', async () => {
    for (const client of clients) {
      const rest = client.name === 'REST';
      const agent = await new Agent(at.start('running', 'alice')).attest(client, bearer('alice'));
      at.runs.length = 0;
      const answer = await client.invoke(agent.call(1, 'fs.read', READ), bearer('bob'));
      assert.deepEqual([answer.status, answer.reason], [rest ? 403 : 'PERMISSION_DENIED', 'SessionInactive']);
      assert.equal(at.runs.length, 0);
      const attested = await client.attest(agent, {}, bearer('bob'));
      assert.equal(attested.status, rest ? 404 : 'NOT_FOUND');
    }
  });

  test('sessions are seen by their tenant, and ended by those who may write', async () => {
    const [client = assert.fail()] = clients;
    const agent = await new Agent(at.start('running', 'alice')).attest(client, bearer('alice'));
    const call = async (user: string, method: string, rest: string) => {
      const headers = { authorization: `Bearer ${user}` };
      return (await fetch(`${at.restUrl}/v1/seal/sessions/${agent.sessionId}${rest}`, { method, headers })).status;
    };
    for (const [method, rest] of [
      ['GET', ''],
      ['GET', '/audit'],
      ['POST', '/revoke'],
    ] as const) {
      assert.equal(await call('bob', method, rest), 404);
      assert.equal(await call('alice', method, rest), 200);
    }
    assert.equal(await call('reader', 'POST', '/revoke'), 403);
  });
});

describe('the API description', () => {
  test('has every route of SEAL, and says of invoke that its errors are JSON-RPC', async () => {
    await using at = await sealServer();
    const response = await fetch(`${at.restUrl}/v1/openapi.json`);
    const { paths, components } = z
      .object({
        paths: z.record(z.string(), z.record(z.string(), z.unknown())),
        components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
      })
      .parse(await response.json());
    const seal = Object.entries(paths).filter(([path]) => path.startsWith('/v1/seal') || path === '/v1/invoke');
    assert.deepEqual(
      seal.flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`)).sort(),
      [
        'get /v1/seal/sessions',
        'get /v1/seal/sessions/{id}',
        'get /v1/seal/sessions/{id}/audit',
        'get /v1/seal/tools',
        'post /v1/invoke',
        'post /v1/seal/attest',
        'post /v1/seal/invoke',
        'post /v1/seal/sessions/{id}/revoke',
      ],
    );
    const { responses } = z
      .object({ responses: z.record(z.string(), z.unknown()) })
      .parse(paths['/v1/seal/invoke']?.post);
    for (const [status, answer] of Object.entries(responses).filter(([code]) => code !== '200')) {
      assert.match(JSON.stringify(answer), /"#\/components\/schemas\/InvokeProblem"/, status);
    }
    assert.match(JSON.stringify(components.schemas.InvokeProblem), /jsonrpc/);
  });
});
