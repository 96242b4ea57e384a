import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { signedWebhooks } from '../../support/signed-webhooks.ts';
import { type RestServerOptions, restServer, UNKNOWN } from './rest-server.ts';

const FORMS = [
  'text/plain',
  'Text/Plain;charset=UTF-8',
  ' multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
];
const CANCEL = `/v1/executions/${UNKNOWN}/cancel`;

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Status and headers of a call with headers that `fetch` does not allow. */
async function send(port: number, path: string, { method = 'POST', headers = {}, body }: Sent) {
  return new Promise<{ status: number; allowed: unknown }>((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', path, method, headers }, (response) => {
      response.resume();
      const allowed = response.headers['access-control-allow-origin'];
      response.once('end', () => resolve({ status: response.statusCode ?? 0, allowed }));
    });
    asked.once('error', reject);
    asked.end(body);
  });
}

const statusesAt = (port: number, path: string) => async (sent: Sent) => (await send(port, path, sent)).status;

const never = async (): Promise<never> => Promise.reject(new Error('not asked for'));

/** A node that takes signed webhooks. */
const WEBHOOK: RestServerOptions = {
  webhooks: signedWebhooks({ SVC_WEBHOOK_SECRET_MAIL: 'secret' }),
  stimuli: {
    ...{ ingest: never, list: never, get: never },
    ingestWebhook: async () => ({ stimulus_id: UNKNOWN, workflow_execution_id: UNKNOWN }),
  },
};
const signed = (body: string) => ({
  'x-svc-signature': `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`,
});

describe('pages of other sites and a node without an identity provider', () => {
  it('a POST without a body and without headers of a browser passes', async () => {
    await using at = await restServer();
    assert.equal((await send(at.port, CANCEL, {})).status, 404);
  });

  it('every unsafe method is refused from another origin, whatever the browser says besides', async () => {
    await using at = await restServer();
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT']) {
      const path = method === 'POST' ? CANCEL : method === 'PUT' ? '/v1/agents' : `/v1/agents/${UNKNOWN}`;
      const status = statusesAt(at.port, path);
      const expected = method === 'PUT' ? 405 : 403;
      assert.equal(await status({ method, headers: { origin: 'http://evil.example' } }), expected, method);
    }
    const status = statusesAt(at.port, CANCEL);
    for (const origin of ['null', 'https://localhost.evil.example', 'http://10.0.0.7', 'http://0.0.0.0:8080', 'x']) {
      assert.equal(await status({ headers: { origin } }), 403, origin);
      assert.equal(await status({ headers: { origin, 'sec-fetch-site': 'same-origin' } }), 403, origin);
    }
    for (const site of ['cross-site', 'same-site', 'anything']) {
      assert.equal(await status({ headers: { 'sec-fetch-site': site } }), 403, site);
    }
  });

  it('a Host that is not this machine by name is refused, 0.0.0.0 and :: among them', async () => {
    await using at = await restServer();
    const status = statusesAt(at.port, CANCEL);
    const wrong = ['0.0.0.0', '[::]', '0', '10.0.0.7', '[fe80::1]', '[::ffff:127.0.0.1]', '[::ffff:0.0.0.0]'];
    for (const host of [
      ...wrong,
      'evil.example',
      'svc.localhost',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
    ]) {
      assert.equal(await status({ headers: { host: `${host}:8080` } }), 403, host);
    }
    for (const host of ['localhost', '127.0.0.1', '127.4.5.6', '[::1]', 'LOCALHOST']) {
      assert.equal(await status({ headers: { host: `${host}:8080` } }), 404, host);
    }
    for (const host of ['0.0.0.0:8080', 'evil.example']) {
      assert.equal(await statusesAt(at.port, '/v1/agents')({ method: 'GET', headers: { host } }), 403, host);
    }
  });

  it('the body of a form is refused, also where a route has no body', async () => {
    await using at = await restServer();
    for (const path of [CANCEL, '/v1/executions', '/v1/agents']) {
      for (const type of FORMS) {
        const headers = { 'content-type': type };
        assert.equal(await statusesAt(at.port, path)({ headers, body: '{}' }), 415, `${path} ${type}`);
      }
    }
  });

  it('a webhook may have any type; its Host and Origin are checked like all', async () => {
    await using at = await restServer(WEBHOOK);
    const status = statusesAt(at.port, '/v1/webhooks/mail');
    const body = 'a=1';
    for (const type of FORMS) {
      assert.equal(await status({ headers: { ...signed(body), 'content-type': type }, body }), 200, type);
    }
    assert.equal(await status({ headers: { ...signed(body), host: '0.0.0.0' }, body }), 403);
    assert.equal(await status({ headers: { ...signed(body), origin: 'http://evil.example' }, body }), 403);
  });
});

describe('browsers on other origins', () => {
  const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' };
  const tools = 'https://tools.example.org';

  it('get no CORS headers, unless the origin is on the list of the node', async () => {
    await using closed = await restServer();
    const asked = { method: 'OPTIONS', headers: { ...preflight, origin: tools } };
    const refused = await send(closed.port, '/v1/executions', asked);
    assert.deepEqual([refused.status, refused.allowed], [405, undefined]);

    await using open = await restServer({ origins: [tools] });
    assert.deepEqual(await send(open.port, '/v1/executions', asked), { status: 204, allowed: tools });
    const headers = { origin: tools, 'sec-fetch-site': 'cross-site' };
    assert.deepEqual(await send(open.port, CANCEL, { headers }), { status: 404, allowed: tools });
    const other = { origin: 'https://evil.example' };
    assert.deepEqual(await send(open.port, CANCEL, { headers: other }), { status: 403, allowed: undefined });
  });
});
