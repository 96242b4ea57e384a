import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { stimulusNode } from '../../actors/stimulus/stimulus-node.ts';
import { signedWebhooks } from '../../support/signed-webhooks.ts';
import { AREA_KERNELS } from './area-kernel.ts';
import { namedUsers, restServer } from './rest-server.ts';

const SECRET = 'a secret that nobody guesses';
const MIB = 1024 * 1024;

const signed = (body: string | Uint8Array, secret = SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

for (const { name, missing, start } of AREA_KERNELS) {
  describe(`webhooks over REST, ${name}`, { skip: missing ?? false }, () => {
    let node: Awaited<ReturnType<typeof stimulusNode>>;
    let at: Awaited<ReturnType<typeof restServer>>;
    before(async () => {
      const configured = [
        { source: 'git-hub.io', workflow: 'deploy', tenant: 'alice' },
        { source: 'plain', workflow: 'deploy' },
        { source: 'strict', workflow: 'strict' },
        { source: 'shared', workflow: 'deploy', tenant: 'alice' },
        { source: 'shared', workflow: 'deploy', tenant: 'bob' },
      ];
      node = await stimulusNode({ start, configured });
      const secrets: Record<string, string> = { SVC_WEBHOOK_SECRET_GIT_HUB_IO: SECRET, SVC_WEBHOOK_SECRET_EMPTY: '' };
      for (const source of ['PLAIN', 'STRICT', 'SHARED', 'UNROUTED']) secrets[`SVC_WEBHOOK_SECRET_${source}`] = SECRET;
      const { stimuli } = node;
      at = await restServer({ stimuli, webhooks: signedWebhooks(secrets), authenticator: namedUsers });
    });
    after(async () => {
      await at[Symbol.asyncDispose]();
      await node.stop();
    });

    const send = (source: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
      at.call('POST', `/v1/webhooks/${source}`, { body, headers: { 'x-svc-signature': signed(body), ...headers } });
    const runOf = (id: string) => node.started.find(({ execution_id }) => execution_id === id);
    /** Sends headers that fetch does not allow. */
    const raw = (path: string, headers: Record<string, string | string[]>, body = '') =>
      new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
        const call = request({ port: at.port, host: '127.0.0.1', path, method: 'POST', headers }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          response.on('end', () => resolve({ status: response.statusCode, body: text }));
        });
        call.on('error', reject).end(body);
      });

    test('a signed body of any content type starts the workflow of its route, in the tenant of the route', async () => {
      for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'a/b; c="d"', 'odd']) {
        const done = await send('git-hub.io', '{"ref": "main"}', { 'content-type': type });
        assert.equal(done.status, 200, `${type}: ${done.text}`);
        const run = runOf(done.body.workflow_execution_id) ?? assert.fail('not started');
        assert.deepEqual([run.workflow, run.identity.tenant, run.input], ['deploy', 'alice', { ref: 'main' }]);
        assert.equal(run.intent, '{"ref": "main"}');
      }
      const system = await send('plain', 'hello');
      assert.equal(runOf(system.body.workflow_execution_id)?.identity.tenant, 'svc-system');
    });

    test('tenant headers and bearers change nothing', async () => {
      const done = await send('plain', 'hello', { 'x-tenant-id': 'bob', authorization: 'Bearer alice' });
      assert.equal(done.status, 200);
      assert.equal(runOf(done.body.workflow_execution_id)?.identity.tenant, 'svc-system');
    });

    test('the workflow sees the headers without those that carry secrets', async () => {
      const secret = { authorization: 'Bearer hidden1', cookie: 'a=hidden2', 'x-gitlab-token': 'hidden3' };
      const done = await send('plain', 'hello', { ...secret, 'X-Event': 'push', 'x-api-key': 'hidden4' });
      const run = runOf(done.body.workflow_execution_id) ?? assert.fail('not started');
      const text = JSON.stringify(run);
      assert.match(text, /"x-event":"push"/);
      assert.doesNotMatch(text, /hidden\d|sha256=|x-svc-signature/);
      assert.doesNotMatch(at.logged.join(''), /hidden\d|sha256=|nobody guesses/);
    });

    test('bytes that are no text go on as base64', async () => {
      const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
      const done = await send('plain', bytes, { 'content-type': 'application/octet-stream' });
      const content = Buffer.from(bytes).toString('base64');
      const run = runOf(done.body.workflow_execution_id);
      assert.deepEqual(run?.input, { content, content_encoding: 'base64' });
    });

    test('an empty body is signed like any other, with and without a content type', async () => {
      const ways: Record<string, string>[] = [{}, { 'content-type': 'application/json' }, { 'content-length': '0' }];
      for (const more of ways) {
        const done = await raw('/v1/webhooks/plain', { 'x-svc-signature': signed(''), ...more });
        assert.equal(done.status, 200, done.body);
      }
      const chunked = await raw(
        '/v1/webhooks/plain',
        { 'x-svc-signature': signed('x'), 'transfer-encoding': 'chunked' },
        'x',
      );
      assert.equal(chunked.status, 200, chunked.body);
    });

    test('every tampered body, wrong secret and wrong digest is 401 invalid_signature', async () => {
      const body = '{"ref": "main"}';
      const right = signed(body);
      const before = node.started.length;
      const wrong: [string, string][] = [
        ['{"ref": "mane"}', right],
        [`${body} `, right],
        [body.slice(1), right],
        ['', right],
        [body, signed(body, 'another secret')],
        [body, signed(body, '')],
        [body, `sha256=${'0'.repeat(64)}`],
        [body, right.slice(0, -2)],
        [body, `${right}00`],
        [body, 'sha256=00'],
      ];
      for (const [sent, signature] of wrong) {
        const refused = await send('plain', sent, { 'x-svc-signature': signature });
        assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_signature'], signature);
      }
      assert.equal(node.started.length, before);
      assert.equal(
        (await send('plain', body, { 'x-svc-signature': right.toUpperCase().replace('SHA', 'sha') })).status,
        200,
      );
    });

    test('a header that is missing is 401, one of another form 400', async () => {
      const none: Record<string, string>[] = [{}, { 'x-svc-signature': '' }];
      for (const headers of none) {
        const refused = await raw('/v1/webhooks/plain', headers, 'x');
        assert.deepEqual([refused.status, JSON.parse(refused.body).error], [401, 'missing_signature']);
      }
      const hex = signed('x').slice('sha256='.length);
      for (const value of [hex, `sha1=${hex}`, `sha256:${hex}`, 'sha256=', `sha256=${hex}0`, `sha256=${hex}zz`]) {
        const refused = await raw('/v1/webhooks/plain', { 'x-svc-signature': value }, 'x');
        assert.deepEqual([refused.status, JSON.parse(refused.body).error], [400, 'malformed_signature'], value);
      }
      const twice = await raw('/v1/webhooks/plain', { 'x-svc-signature': [signed('x'), signed('x')] }, 'x');
      assert.equal(twice.status, 400);
    });

    test('a source without a secret is 401 secret_not_found, whatever it is', async () => {
      for (const source of ['nobody', 'empty', '__proto__', '..%2Fplain', 'x'.repeat(250)]) {
        const refused = await send(source, 'x');
        assert.deepEqual([refused.status, refused.body.error], [401, 'secret_not_found'], source);
      }
    });

    test('without a right signature a source with a route answers as one without', async () => {
      const [routed, unrouted] = [
        await send('plain', 'x', { 'x-svc-signature': signed('y') }),
        await send('unrouted', 'x', { 'x-svc-signature': signed('y') }),
      ];
      assert.deepEqual([routed.status, routed.body], [unrouted.status, unrouted.body]);
      const refused = await send('unrouted', 'x');
      assert.deepEqual([refused.status, refused.body.error], [404, 'not_found']);
    });

    test('routes of several tenants for one source are 409 conflict', async () => {
      const refused = await send('shared', 'x');
      assert.deepEqual([refused.status, refused.body.error], [409, 'conflict']);
    });

    test('a body of 1 MiB is taken, one byte more is 413', async () => {
      assert.equal((await send('plain', 'x'.repeat(MIB))).status, 200);
      const refused = await send('plain', 'x'.repeat(MIB + 1));
      assert.deepEqual([refused.status, refused.body.error], [413, 'payload_too_large']);
      const binary = new Uint8Array(MIB).fill(0xff);
      assert.equal((await send('plain', binary)).status, 200);
    });

    test('of 100 equal deliveries at once one runs and 99 are duplicates that name it', async () => {
      const before = node.started.length;
      const headers = { 'x-idempotency-key': 'delivery 7/9' };
      const answers = await Promise.all(Array.from({ length: 100 }, () => send('git-hub.io', '{"n": 1}', headers)));
      const first = answers.find(({ status }) => status === 200)?.body ?? assert.fail('none ran');
      const duplicates = answers.filter(({ status }) => status === 409);
      assert.equal(duplicates.length, 99);
      for (const { body } of duplicates) {
        assert.equal(body.error, 'idempotent_duplicate');
        assert.equal(body.original_stimulus_id, first.stimulus_id);
        assert.equal(body.workflow_execution_id, first.workflow_execution_id);
      }
      assert.equal(node.started.length, before + 1);
      const other = await send('git-hub.io', '{"n": 1}', { 'x-idempotency-key': 'another' });
      assert.equal(other.status, 200);
    });

    test('what its workflow does not take is 422', async () => {
      const refused = await send('strict', '{}');
      assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed']);
    });

    test('the route is in the OpenAPI description and needs no bearer there', async () => {
      const { paths } = (await at.call('GET', '/v1/openapi.json')).body;
      const { post } = paths['/v1/webhooks/{source}'];
      assert.deepEqual(post.security, []);
      assert.deepEqual(Object.keys(post.requestBody.content), ['*/*']);
      for (const status of ['200', '400', '401', '404', '409', '413', '422']) assert.ok(post.responses[status], status);
    });
  });
}

test('a node that knows no secrets has no webhooks', async () => {
  const [embedded] = AREA_KERNELS;
  const node = await stimulusNode({ start: (embedded ?? assert.fail()).start });
  const at = await restServer({ stimuli: node.stimuli, authenticator: namedUsers });
  const refused = await at.call('POST', '/v1/webhooks/plain', { body: 'x' });
  assert.equal(refused.status, 404);
  await at[Symbol.asyncDispose]();
  await node.stop();
});
