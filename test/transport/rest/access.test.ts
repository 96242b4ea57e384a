import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import { SURFACE } from '../../product/surface.ts';
import { MANIFEST, namedUsers, restServer, UNKNOWN } from './rest-server.ts';

const as = (user: string) => ({ authorization: `Bearer ${user}` });

/** Every route that needs an identity, and which of the named users may use it. */
const ROUTES: [method: string, path: string, allowed: string[]][] = [
  ['GET', '/v1/agents/lookup/nobody', ['reader', 'operator', 'alice']],
  ['GET', '/v1/agents', ['reader', 'operator', 'alice']],
  ['POST', '/v1/agents', ['operator', 'alice']],
  ['POST', '/v1/agents/validate', ['reader', 'operator', 'alice']],
  ['GET', `/v1/agents/${UNKNOWN}`, ['reader', 'operator', 'alice']],
  ['GET', `/v1/agents/${UNKNOWN}/versions`, ['reader', 'operator', 'alice']],
  ['GET', `/v1/agents/${UNKNOWN}/export`, ['reader', 'operator', 'alice']],
  ['GET', `/v1/agents/${UNKNOWN}/logs`, ['reader', 'operator', 'alice']],
  ['PATCH', `/v1/agents/${UNKNOWN}`, ['operator', 'alice']],
  ['POST', `/v1/agents/${UNKNOWN}/scope`, ['operator', 'alice']],
  ['POST', `/v1/agents/${UNKNOWN}/execute`, ['operator', 'alice']],
  ['DELETE', `/v1/agents/${UNKNOWN}`, ['operator', 'alice']],
  ['GET', '/v1/me', ['reader', 'operator', 'alice']],
  ['GET', '/v1/schemas/agent', ['reader', 'operator', 'alice']],
  ['POST', '/v1/executions', ['operator', 'alice']],
  ['GET', '/v1/executions', ['reader', 'operator', 'alice']],
  ['GET', `/v1/executions/${UNKNOWN}`, ['reader', 'operator', 'alice']],
  ['GET', `/v1/executions/${UNKNOWN}/stream`, ['reader', 'operator', 'alice']],
  ['GET', `/v1/executions/${UNKNOWN}/events`, ['reader', 'operator', 'alice']],
  ['POST', `/v1/executions/${UNKNOWN}/cancel`, ['operator', 'alice']],
  ['DELETE', `/v1/executions/${UNKNOWN}`, ['operator', 'alice']],
];

/** Public routes that the description of the API does not hold. */
const NOT_DESCRIBED = [
  ...['GET /v1/openapi.json', 'GET /docs', 'GET /', 'GET /assets/{name}'],
  ...['GET /dashboard', 'GET /dashboard/config.json'],
];

describe('who may call what', () => {
  it('without a token every route but health and the description is 401, whatever else is wrong', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    for (const [method, path] of ROUTES) {
      const refused = await at.call(method, path, { headers: { 'content-type': 'text/plain' } });
      assert.equal(refused.status, 401, `${method} ${path}`);
      assert.deepEqual(refused.body, {
        error: 'unauthenticated',
        message: 'A valid bearer token is needed: send it in authorization.',
      });
      assert.equal(refused.headers.get('www-authenticate'), 'Bearer realm="svc"');
    }
    const bad = await at.call('GET', '/v1/agents', { headers: as('mallory') });
    assert.equal(bad.headers.get('www-authenticate'), 'Bearer realm="svc", error="invalid_token"');
    for (const path of ['/health', '/health/live', '/health/ready', '/v1/openapi.json', '/docs/']) {
      assert.equal((await at.call('GET', path)).status, 200, path);
    }
  });

  it('the routes without a bearer are those that the reference names, and answer without one', async () => {
    const page = await readFile(new URL('../../../docs/reference/rest.md', import.meta.url), 'utf8');
    const [, section = ''] = /Without a bearer a node([\s\S]*?)\n###/.exec(page) ?? [];
    const named = [...section.matchAll(/`((?:GET|POST) \/[^`]*)`/g)].map((match) => match[1] ?? '');
    const described = Object.entries(SURFACE).filter(([, { access }]) => access === 'public');
    assert.deepEqual(named.sort(), [...described.map(([operation]) => operation), ...NOT_DESCRIBED].sort());
    await using at = await restServer({ authenticator: namedUsers });
    for (const operation of named) {
      const [method = '', path = ''] = operation.split(' ');
      const { status } = await at.call(method, path.replaceAll(/\{\w+\}/g, 'x'));
      assert.ok(status !== 401 || method === 'POST', `${operation}: ${status}`);
    }
  });

  it('each role may call exactly its routes', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    for (const [method, path, allowed] of ROUTES) {
      for (const user of ['reader', 'operator', 'alice']) {
        const { status, body } = await at.call(method, path, { headers: as(user) });
        assert.equal(status !== 403, allowed.includes(user), `${user} ${method} ${path}: ${status}`);
        if (status === 403) assert.equal(body.error, 'forbidden');
      }
    }
  });

  it('the table above names every route of the description', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    const { paths } = (await at.call('GET', '/v1/openapi.json')).body;
    const described = Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replace('{id}', UNKNOWN).replace('{kind}', 'agent')}`,
      ),
    );
    const tested = ROUTES.map(([method, path]) => `${method} ${path.replace('nobody', '{name}')}`);
    assert.deepEqual(described.filter((route) => !route.includes('/health')).sort(), tested.sort());
  });

  it('objects of another tenant have the same answer as objects that never existed', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    const { agent_id } = (await at.postJson('/v1/agents', { manifest_yaml: MANIFEST }, as('alice'))).body;
    const started = await at.postJson('/v1/executions', { agent_id, input: 'hi' }, as('alice'));
    const id = started.body.execution_id;
    const pairs: [string, string, string][] = [
      ['GET', `/v1/agents/${agent_id}`, `/v1/agents/${UNKNOWN}`],
      ['GET', `/v1/agents/${agent_id}/export`, `/v1/agents/${UNKNOWN}/export`],
      ['DELETE', `/v1/agents/${agent_id}`, `/v1/agents/${UNKNOWN}`],
      ['GET', '/v1/agents/lookup/writer', '/v1/agents/lookup/nobody'],
      ['GET', `/v1/executions/${id}`, `/v1/executions/${UNKNOWN}`],
      ['GET', `/v1/executions/${id}/stream`, `/v1/executions/${UNKNOWN}/stream`],
      ['GET', `/v1/executions/${id}/events`, `/v1/executions/${UNKNOWN}/events`],
      ['POST', `/v1/executions/${id}/cancel`, `/v1/executions/${UNKNOWN}/cancel`],
      ['DELETE', `/v1/executions/${id}`, `/v1/executions/${UNKNOWN}`],
    ];
    for (const [method, foreign, unknown] of pairs) {
      const [a, b] = [
        await at.call(method, foreign, { headers: as('bob') }),
        await at.call(method, unknown, { headers: as('bob') }),
      ];
      assert.equal(a.status, 404, foreign);
      assert.deepEqual(a.body, b.body, foreign);
    }
    for (const [method, path, body] of [
      ['PATCH', '', { status: 'paused' }],
      ['POST', '/scope', { action: 'promote' }],
      ['POST', '/execute', {}],
    ] as const) {
      const [a, b] = await Promise.all(
        [agent_id, UNKNOWN].map((agent) => {
          const headers = { ...as('bob'), 'content-type': 'application/json' };
          return at.call(method, `/v1/agents/${agent}${path}`, { headers, body: JSON.stringify(body) });
        }),
      );
      assert.deepEqual([a?.status, a?.body], [404, { error: 'agent not found' }], path);
      assert.deepEqual([b?.status, b?.body], [a?.status, a?.body], path);
    }
    const foreignStart = await at.postJson('/v1/executions', { agent_id, input: 'hi' }, as('bob'));
    assert.deepEqual([foreignStart.status, foreignStart.body], [404, { error: 'agent not found' }]);
    assert.deepEqual((await at.call('GET', '/v1/agents', { headers: as('bob') })).body, { agents: [] });
    assert.deepEqual((await at.call('GET', '/v1/executions', { headers: as('bob') })).body, { executions: [] });
    assert.equal((await at.call('GET', `/v1/executions/${id}`, { headers: as('alice') })).body.status, 'running');
  });

  it('an identity provider that is down is 503 with Retry-After', async () => {
    const down = {
      required: true,
      authenticate: () => Promise.reject(new SvcError('unavailable', 'idp', { retryAfterMs: 4_200 })),
    };
    await using at = await restServer({ authenticator: down });
    const refused = await at.call('GET', '/v1/agents', { headers: as('alice') });
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5']);
  });

  it('tokens do not reach the log', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    await at.call('GET', '/v1/agents', { headers: as('super-secret-token') });
    await at.call('GET', `/v1/agents/${UNKNOWN}`, { headers: as('alice') });
    assert.ok(at.logged.length > 0);
    assert.doesNotMatch(at.logged.join(''), /super-secret-token|Bearer/);
  });
});

/** Status of a call with headers that fetch does not allow. */
const statusWith = (port: number, path: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });

describe('a node without authentication', () => {
  it('refuses pages of other sites and foreign host names', async () => {
    await using at = await restServer();
    const status = (headers: Record<string, string>) => statusWith(at.port, '/v1/agents', headers);
    assert.equal(await status({ 'sec-fetch-site': 'cross-site' }), 403);
    assert.equal(await status({ host: 'evil.example' }), 403);
    assert.equal(await status({ host: 'localhost.evil.example' }), 403);
    for (const host of ['localhost:8080', '127.0.0.1', '[::1]:8080', 'svc.localhost']) {
      assert.equal(await status({ host, 'sec-fetch-site': 'same-origin' }), 200, host);
    }
  });

  it('with authentication any host name serves', async () => {
    await using at = await restServer({ authenticator: namedUsers });
    assert.equal(await statusWith(at.port, '/v1/agents', { host: 'svc.example', ...as('alice') }), 200);
  });
});
