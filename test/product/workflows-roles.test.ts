import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type Metadata, Metadata as MetadataClass, status } from '@grpc/grpc-js';
import { SvcRuntimeService } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { clientOf, metadataOf, unary } from '../transport/grpc/call.ts';
import { ProductNode } from './product-node.ts';
import { type CallerName, Realms } from './realms.ts';
import { callOf, SURFACE, type SurfaceRow } from './surface.ts';
import { DONE, workflowText } from './tenant-objects.ts';

const LOOK = ['read', 'audit'] as const;
const USE = ['read', 'run'] as const;
const ALL = ['read', 'run', 'write', 'audit'] as const;

/** The rights of each caller (H7). */
const MAY: Readonly<Record<string, readonly SurfaceRow['access'][]>> = {
  operator: [...ALL, 'inspect', 'operate'],
  readonly: [...LOOK, 'inspect'],
  noRole: [],
  service: ALL,
  serviceForAlpha: ALL,
  alphaAdmin: ALL,
  alphaUser: USE,
  alphaReader: LOOK,
  consumer: USE,
  consumerSayingAdmin: USE,
};

const METHODS: Readonly<Record<string, SurfaceRow['access']>> = {
  ExecuteAgent: 'run',
  ExecuteSystemCommand: 'write',
  ValidateWithJudges: 'run',
  QueryMemoryPatterns: 'read',
  StoreMemoryPattern: 'write',
  AttestAgent: 'run',
  InvokeTool: 'run',
  IngestStimulus: 'run',
};

const ROLE = /role does not allow/;

const ENDLESS: ReadonlySet<string> = new Set(['GET /v1/feed', 'GET /v1/tap']);

describe('what each role may do, over every route and every method', () => {
  let realms: Realms;
  let node: ProductNode;
  const callers = new Map<string, Record<string, string>>();
  before(async () => {
    realms = await Realms.open();
    node = await ProductNode.start({ spec: realms.spec });
    const known = [
      'operator',
      'readonly',
      'service',
      'serviceForAlpha',
      'alphaAdmin',
      'alphaUser',
      'consumer',
    ] as const;
    for (const name of known satisfies readonly CallerName[]) callers.set(name, await realms.headers(name));
    callers.set('noRole', await realms.headersWith('svc-system', { sub: 'nils' }));
    callers.set('alphaReader', await realms.headersWith('alpha', { sub: 'rosa', svc_role: 'svc:readonly' }));
    callers.set('consumerSayingAdmin', await realms.headersWith('people', { sub: 'carl', svc_role: 'svc:admin' }));
  });
  after(async () => {
    await node[Symbol.asyncDispose]();
    await realms[Symbol.asyncDispose]();
  });

  const headersOf = (caller: string): Record<string, string> => callers.get(caller) ?? {};
  const as = (caller: string, method: string, path: string, body?: object | string) => {
    const type = { 'content-type': typeof body === 'string' ? 'application/yaml' : 'application/json' };
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    return node.call(method, path, {
      headers: { ...headersOf(caller), ...(body === undefined ? {} : type) },
      ...(text === undefined ? {} : { body: text }),
    });
  };

  test('a route refuses exactly the callers whose role does not allow it, and every caller without a token', async () => {
    for (const [operation, { access }] of Object.entries(SURFACE)) {
      const { method, path, ask } = callOf(operation, randomUUID());
      const without = await node.call(method, path, ask);
      // A webhook has its signature instead of a token, an agent the token of its session.
      const open = access === 'public' && !/webhooks|seal\/tools/.test(operation);
      assert.equal(without.status === 401, !open, `${operation} without a token: ${without.status}`);
      if (access === 'public') continue;
      // Requested with an invalid position, since the answer would have no end.
      const shown = ENDLESS.has(operation) ? `${path}?kind=%00` : path;
      for (const [caller, may] of Object.entries(MAY)) {
        const answer = await node.call(method, shown, { ...ask, headers: { ...ask.headers, ...headersOf(caller) } });
        const refused = answer.status === 403 && ROLE.test(answer.text);
        assert.equal(refused, !may.includes(access), `${caller} asks ${operation}: ${answer.status} ${answer.text}`);
        assert.notEqual(answer.status, 401, caller);
        assert.ok(answer.status < 500, `${caller} asks ${operation}: ${answer.status} ${answer.text}`);
      }
    }
  });

  test('a consumer of a paid tier keeps volumes in its own tenant, for svc.execute.intent; a free one does not', async () => {
    const pro = await realms.headersWith('people', { sub: 'petra', svc_tier: 'pro' });
    const ask = (method: string, path: string, body?: object | string) =>
      node.call(method, path, {
        headers: { ...pro, 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json' },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
    const made = await ask('POST', '/v1/volumes', { name: 'mine' });
    assert.equal(made.status, 200, made.text);
    const path = `/v1/volumes/${String(made.body.id)}`;
    assert.equal((await ask('PUT', `${path}/files/content?path=/in.txt`, 'data')).status, 200);
    const started = await ask('POST', '/v1/execute/intent', { intent: 'count', volume_id: made.body.id });
    assert.ok(started.status === 200 || started.status === 202, started.text);
    const events = await ask('GET', `${path}/events`);
    assert.deepEqual(
      (Array.isArray(events.body.events) ? events.body.events : []).map((one) => Object(one).event),
      ['FileCreated', 'VolumeCreated'],
    );
    const refused = await as('consumer', 'POST', '/v1/volumes', { name: 'mine' });
    assert.deepEqual([refused.status, ROLE.test(refused.text)], [403, true], refused.text);
  });

  test('a reader calls the reading tools, over REST and /mcp, and no other', async () => {
    const call = (name: string, args: object) => as('readonly', 'POST', `/v1/tools/${name}`, args);
    const listed = await call('svc.workflow.list', {});
    assert.equal(listed.status, 200, listed.text);
    const refused = await call('svc.workflow.run', { name: 'any' });
    assert.deepEqual([refused.status, refused.body.reason], [403, 'ToolNotAllowed'], refused.text);
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'svc.agent.list', arguments: {} } };
    const answer = await node.call('POST', '/mcp', {
      body: JSON.stringify(rpc),
      headers: {
        ...headersOf('readonly'),
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.text, /"agents"/);
  });

  test('a method of SvcRuntime refuses exactly the callers whose role does not allow it', async () => {
    const address = await node.process.grpcAddress;
    const client = clientOf(address);
    assert.deepEqual(
      Object.values(SvcRuntimeService).map(({ path }) => path.split('/').at(-1)),
      Object.keys(METHODS),
    );
    const call = (path: string, metadata: Metadata) =>
      unary((done) => client.makeUnaryRequest(path, Buffer.from, Buffer.from, Buffer.alloc(0), metadata, done));
    for (const { path } of Object.values(SvcRuntimeService)) {
      const access = METHODS[path.split('/').at(-1) ?? ''] ?? 'break';
      assert.equal((await call(path, new MetadataClass())).code, status[status.UNAUTHENTICATED], path);
      for (const [caller, may] of Object.entries(MAY)) {
        const { code, details } = await call(path, metadataOf(headersOf(caller)));
        const refused = code === 'PERMISSION_DENIED' && ROLE.test(details);
        assert.equal(refused, !may.includes(access), `${caller} calls ${path}: ${code} ${details}`);
        assert.notEqual(code, 'UNAUTHENTICATED', caller);
      }
    }
    client.close();
  });

  test('global workflows are changed by operators alone, tenant and user ones by administrators of the tenant', async () => {
    const scope = (name: string, action: 'promote' | 'demote', target_scope: string) =>
      [`/v1/workflows/${name}/scope`, { action, target_scope }] as const;
    for (const caller of ['alphaAdmin', 'service', 'serviceForAlpha']) {
      const answer = await as(caller, 'POST', '/v1/workflows?scope=global', workflowText('grab', { a: DONE }));
      assert.equal(answer.status, 403, `${caller}: ${answer.text}`);
      const deployed = await as(
        caller,
        'POST',
        '/v1/workflows?scope=user',
        workflowText(`of-${caller.toLowerCase()}`, { a: DONE }),
      );
      assert.equal(deployed.status, 200, deployed.text);
    }
    const up = (caller: string, name: string, target: string) => as(caller, 'POST', ...scope(name, 'promote', target));
    const down = (caller: string, name: string, target: string) => as(caller, 'POST', ...scope(name, 'demote', target));
    // A service account is no administrator, but it owns the workflow.
    assert.equal((await up('serviceForAlpha', 'of-serviceforalpha', 'tenant')).status, 403);
    assert.equal(
      (await as('alphaUser', 'GET', '/v1/workflows/of-alphaadmin')).status,
      404,
      'a workflow of another user',
    );
    assert.equal((await up('alphaAdmin', 'of-alphaadmin', 'global')).status, 403);
    assert.equal((await up('alphaAdmin', 'of-alphaadmin', 'tenant')).status, 200);
    assert.equal((await as('alphaUser', 'GET', '/v1/workflows/of-alphaadmin')).status, 200);
    assert.equal((await up('alphaAdmin', 'of-alphaadmin', 'global')).status, 403);
    assert.equal((await up('alphaAdmin', 'of-alphaadmin', 'user')).status, 400);

    const global = workflowText('for-all', { a: DONE });
    assert.equal((await as('operator', 'POST', '/v1/workflows?scope=global', global)).status, 200);
    for (const caller of ['alphaUser', 'consumer', 'alphaReader', 'service']) {
      assert.equal((await as(caller, 'GET', '/v1/workflows/for-all')).status, 200, caller);
    }
    const { body: run } = await as('alphaUser', 'POST', '/v1/workflows/for-all/run', {});
    assert.equal((await as('alphaReader', 'GET', `/v1/workflows/executions/${run.execution_id}`)).status, 200);
    assert.equal((await as('operator', 'GET', `/v1/workflows/executions/${run.execution_id}`)).status, 404);
    for (const caller of ['alphaAdmin', 'service', 'serviceForAlpha']) {
      assert.equal((await as(caller, 'DELETE', '/v1/workflows/for-all')).status, 403, caller);
      assert.equal((await down(caller, 'for-all', 'tenant')).status, 403, caller);
      assert.equal((await as(caller, 'POST', '/v1/workflows?force=true&scope=global', global)).status, 403, caller);
    }
    assert.equal((await down('operator', 'for-all', 'tenant')).status, 200);
    assert.equal((await as('alphaUser', 'GET', '/v1/workflows/for-all')).status, 404);
    assert.equal((await up('operator', 'for-all', 'global')).status, 200);
    assert.equal((await as('operator', 'DELETE', '/v1/workflows/for-all')).status, 200);
  });
});
