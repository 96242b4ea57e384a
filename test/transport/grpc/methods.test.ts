import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Metadata } from '@grpc/grpc-js';
import type { SvcRuntimeClient } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { IdentityProvider, type SigningKey, sign, signingKey } from '../../security/identity-provider.ts';
import { NEEDS_SANDBOX } from '../../support/needs-sandbox.ts';
import { clientOf, ended, metadataOf, request, text, type Unary, unary } from './call.ts';
import { manifest, node, type TestNode } from './node.ts';

const ISSUER = 'https://idp.example/realms/';
const AUDIENCE = 'svc-api';

type Method = (client: SvcRuntimeClient, metadata: Metadata) => Promise<{ code: string; details: string }>;

const one =
  (call: (client: SvcRuntimeClient, metadata: Metadata, callback: Parameters<Unary>[0]) => unknown): Method =>
  (client, metadata) =>
    unary((callback) => call(client, metadata, callback));

/** All methods (G1), with the least valid request. */
const METHODS: Readonly<Record<string, Method>> = {
  ExecuteAgent: async (client, metadata) => {
    const { code, status } = await ended(client.executeAgent(request('writer'), metadata));
    return { code, details: status.details };
  },
  ExecuteSystemCommand: one((client, metadata, callback) =>
    client.executeSystemCommand({ command: 'true', env: { A: 'b' } }, metadata, callback),
  ),
  ValidateWithJudges: one((client, metadata, callback) =>
    client.validateWithJudges(
      { output: '', task: '', judges: [], consensus: undefined, context_json: '' },
      metadata,
      callback,
    ),
  ),
  QueryMemoryPatterns: one((client, metadata, callback) =>
    client.queryMemoryPatterns({ error_signature: 'E' }, metadata, callback),
  ),
  StoreMemoryPattern: one((client, metadata, callback) =>
    client.storeMemoryPattern(
      { error_signature: '', error_type: '', error_message: '', solution_approach: '', tags: [] },
      metadata,
      callback,
    ),
  ),
  AttestAgent: one((client, metadata, callback) =>
    client.attestAgent({ agent_id: '', execution_id: '', container_id: '', public_key_pem: '' }, metadata, callback),
  ),
  InvokeTool: one((client, metadata, callback) =>
    client.invokeTool(
      { protocol: 'seal/v1', security_token: '', signature: '', payload: Buffer.alloc(0), timestamp: '' },
      metadata,
      callback,
    ),
  ),
  IngestStimulus: one((client, metadata, callback) =>
    client.ingestStimulus({ source_name: '', content: '', headers: {} }, metadata, callback),
  ),
};

/** Answers to these requests from the methods that are served; the others are specified, and not served by this version. */
const SERVED: Readonly<Record<string, string>> = {
  ExecuteAgent: 'OK',
  ExecuteSystemCommand: 'OK',
  ValidateWithJudges: 'INVALID_ARGUMENT',
  QueryMemoryPatterns: 'OK',
  StoreMemoryPattern: 'INVALID_ARGUMENT',
  AttestAgent: 'INVALID_ARGUMENT',
  InvokeTool: 'INVALID_ARGUMENT',
  IngestStimulus: 'INVALID_ARGUMENT',
};
const served = (name: string): string => SERVED[name] ?? 'UNIMPLEMENTED';
/** Methods that a reader may not call, and those that a user of a tenant may not call (security/tenant.ts). */
const READABLE = ['QueryMemoryPatterns'];
const FOR_OPERATORS = ['ExecuteSystemCommand', 'StoreMemoryPattern'];

const ROBOT = { azp: 'robot', svc_role: 'svc:service' };

describe('methods of SvcRuntime behind an identity provider', NEEDS_SANDBOX, () => {
  let at: TestNode;
  let client: SvcRuntimeClient;
  let key: SigningKey;
  let stranger: SigningKey;
  const provider = new IdentityProvider();

  before(async () => {
    await provider.listen();
    key = await signingKey('k1');
    stranger = await signingKey('k1');
    provider.keys = [key];
    const realm = (slug: string, kind: string) => ({
      slug,
      kind,
      issuer_url: ISSUER + slug,
      jwks_uri: provider.jwksUri,
      audience: AUDIENCE,
      ...(kind === 'system' ? { service_accounts: { tenants: ['alice', 'bob'] } } : {}),
    });
    at = await node({
      spec: {
        iam: { realms: [realm('svc-system', 'system'), realm('alice', 'tenant')] },
        runtime: { host_commands: { allow: ['svc-system'] } },
        grpc_auth: { exempt_methods: ['/svc.runtime.v1.SvcRuntime/QueryMemoryPatterns'] },
      },
    });
    at.script({ chunks: ['ok'] });
    client = clientOf(at.address);
    const operator = await token({ svc_role: 'svc:operator' });
    await at.deploy(manifest('writer'), { authorization: `Bearer ${operator}` });
    const robot = await token(ROBOT);
    await at.deploy(manifest('writer'), { authorization: `Bearer ${robot}`, 'x-tenant-id': 'alice' });
  });
  after(async () => {
    client.close();
    await at[Symbol.asyncDispose]();
    await provider.stop();
  });

  const token = (claims: Record<string, unknown>, { realm = 'svc-system', by = key } = {}): Promise<string> =>
    sign(by, {
      iss: ISSUER + realm,
      aud: AUDIENCE,
      sub: 'ada',
      exp: Math.floor(Date.now() / 1_000) + 600,
      ...claims,
    });
  const bearer = async (...args: Parameters<typeof token>): Promise<Metadata> =>
    metadataOf({ authorization: `Bearer ${await token(...args)}` });

  for (const [name, method] of Object.entries(METHODS)) {
    const path = `svc.runtime.v1.SvcRuntime/${name}`;

    test(`${name} is ${served(name)} for an operator`, async () => {
      const answer = await method(client, await bearer({ svc_role: 'svc:operator' }));
      assert.equal(answer.code, served(name));
      if (answer.code === 'UNIMPLEMENTED') {
        assert.equal(answer.details, `${path} is specified but not served by this version`);
      }
    });

    test(`${name} by a reader is ${READABLE.includes(name) ? served(name) : 'PERMISSION_DENIED'}`, async () => {
      const answer = await method(client, await bearer({ svc_role: 'svc:readonly' }));
      assert.equal(answer.code, READABLE.includes(name) ? served(name) : 'PERMISSION_DENIED');
    });

    test(`${name} by a user without a role follows the policy for users`, async () => {
      const answer = await method(client, await bearer({}, { realm: 'alice' }));
      assert.equal(answer.code, FOR_OPERATORS.includes(name) ? 'PERMISSION_DENIED' : served(name));
    });

    // QueryMemoryPatterns is exempt in this node's settings.
    const exempt = name === 'QueryMemoryPatterns';
    test(`${name} without a token is ${exempt ? 'served, for it is exempt' : 'UNAUTHENTICATED'}`, async () => {
      const answer = await method(client, metadataOf({}));
      assert.equal(answer.code, exempt ? served(name) : 'UNAUTHENTICATED');
    });

    test(`${name} with a token of an unknown key is UNAUTHENTICATED, exempt or not`, async () => {
      const answer = await method(client, await bearer({ svc_role: 'svc:admin' }, { by: stranger }));
      assert.equal(answer.code, 'UNAUTHENTICATED');
      assert.equal(answer.details, 'A valid bearer token is needed: send it in authorization.');
    });
  }

  const bad: Readonly<Record<string, () => Promise<Metadata>>> = {
    'an expired token': () => bearer({ exp: Math.floor(Date.now() / 1_000) - 3_600 }),
    'a token for someone else': () => bearer({ aud: 'other' }),
    'a token of an unknown realm': () => bearer({}, { realm: 'nowhere' }),
    'no bearer': async () => metadataOf({ authorization: 'Basic YTpi' }),
    nonsense: async () => metadataOf({ authorization: 'Bearer nonsense' }),
  };
  for (const [what, metadata] of Object.entries(bad)) {
    test(`${what} is UNAUTHENTICATED, with its code as a trailer`, async () => {
      const { code, status } = await ended(client.executeAgent(request('writer'), await metadata()));
      assert.equal(code, 'UNAUTHENTICATED');
      assert.equal(text(status.metadata, 'svc-error-code'), 'unauthenticated');
    });
  }

  test('a service account runs in the tenant of its x-tenant-id, else in svc-system', async () => {
    const metadata = await bearer(ROBOT);
    const system = await ended(client.executeAgent(request('writer'), metadata));
    metadata.set('x-tenant-id', 'alice');
    const alice = await ended(client.executeAgent(request('writer'), metadata));
    assert.deepEqual([system.code, alice.code], ['OK', 'OK']);
    metadata.set('x-tenant-id', 'bob');
    assert.equal((await ended(client.executeAgent(request('writer'), metadata))).code, 'NOT_FOUND');
    metadata.set('x-tenant-id', 'No Slug');
    const refused = await ended(client.executeAgent(request('writer'), metadata));
    assert.equal(refused.code, 'INVALID_ARGUMENT');
    assert.match(refused.status.details, /X-Tenant-Id/);
    const status = async (run: typeof system, tenant: string): Promise<number> => {
      const response = await fetch(`${at.restUrl}/v1/executions/${text(run.first, 'svc-execution-id')}`, {
        headers: { authorization: `Bearer ${await token(ROBOT)}`, 'x-tenant-id': tenant },
      });
      await response.body?.cancel();
      return response.status;
    };
    assert.equal(await status(alice, 'alice'), 200);
    assert.equal(await status(alice, 'svc-system'), 404);
    assert.equal(await status(system, 'svc-system'), 200);
  });

  test('x-tenant-id of anyone else is ignored', async () => {
    const metadata = await bearer({}, { realm: 'alice' });
    metadata.set('x-tenant-id', 'svc-system');
    const { first, code } = await ended(client.executeAgent(request('writer'), metadata));
    assert.equal(code, 'OK');
    const response = await fetch(`${at.restUrl}/v1/executions/${text(first, 'svc-execution-id')}`, {
      headers: { authorization: `Bearer ${await token({ svc_role: 'svc:operator' })}` },
    });
    await response.body?.cancel();
    assert.equal(response.status, 404);
  });

  test('no token, and no claim of one, is in the log', () => {
    const log = at.logged.join('');
    assert.ok(log.includes('call refused'));
    assert.doesNotMatch(log, /eyJ|Bearer|nonsense/);
  });
});

describe('methods of SvcRuntime without an identity provider', () => {
  test('a call is the local operator, whatever it claims', async () => {
    await using at = await node();
    const client = clientOf(at.address);
    const answer = await unary((callback) =>
      client.queryMemoryPatterns({ error_signature: 'E' }, metadataOf({ 'x-tenant-id': 'alice' }), callback),
    );
    assert.equal(answer.code, 'OK');
    client.close();
  });

  test('with grpc_auth switched off, a call without a token runs in svc-system, and a bad token is still bad', async () => {
    await using provider = new IdentityProvider();
    await provider.listen();
    provider.keys = [await signingKey('k1')];
    const realm = { slug: 'svc-system', kind: 'system', issuer_url: ISSUER, jwks_uri: provider.jwksUri, audience: 'a' };
    await using at = await node({ spec: { iam: { realms: [realm] }, grpc_auth: { enabled: false } } });
    const client = clientOf(at.address);
    const call = (metadata: Metadata) =>
      unary((callback) => client.queryMemoryPatterns({ error_signature: 'E' }, metadata, callback));
    assert.equal((await call(metadataOf({}))).code, 'OK');
    assert.equal((await call(metadataOf({ authorization: 'Bearer x' }))).code, 'UNAUTHENTICATED');
    client.close();
  });
});
