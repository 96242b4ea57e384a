import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import { describe, it } from 'node:test';
import { signedWebhooks } from '../../support/signed-webhooks.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { type RestServerOptions, restServer, UNKNOWN } from './rest-server.ts';

const never = async (): Promise<never> => Promise.reject(new Error('not asked for'));

/** A node whose webhooks start nothing. */
const webhooks = (received: string[], limits: RestServerOptions['limits'] = {}): RestServerOptions => ({
  limits,
  webhooks: signedWebhooks({ SVC_WEBHOOK_SECRET_MAIL: 'secret' }),
  stimuli: {
    ...{ ingest: never, list: never, get: never },
    async ingestWebhook({ content }) {
      received.push(content);
      return { stimulus_id: UNKNOWN, workflow_execution_id: UNKNOWN };
    },
  },
});

const signatureOf = (body: string): string => `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`;

/** A webhook that has begun: its headers are sent, and as much of the body as `part` has. */
function begin(port: number, { length, part, signature }: { length: number; part: string; signature: string }) {
  const headers = { 'x-svc-signature': signature, 'content-length': length };
  const call = request({ port, host: '127.0.0.1', path: '/v1/webhooks/mail', method: 'POST', headers });
  call.on('error', () => {});
  call.write(part);
  return call;
}

async function statusOf(call: ClientRequest): Promise<number | undefined> {
  const [response] = await once(call, 'response');
  response.resume();
  return response.statusCode;
}

describe('bodies that are authenticated by a signature', () => {
  it('a body that comes in pieces is taken when its signature fits, and not when one byte differs', async () => {
    const received: string[] = [];
    await using at = await restServer(webhooks(received));
    const body = 'é'.repeat(50_000);
    const call = begin(at.port, { length: 100_000, part: body.slice(0, 7), signature: signatureOf(body) });
    call.end(body.slice(7));
    assert.equal(await statusOf(call), 200);
    assert.deepEqual(received, [body]);
    const other = begin(at.port, { length: 100_000, part: 'è', signature: signatureOf(body) });
    other.end(body.slice(1));
    assert.equal(await statusOf(other), 401);
    const none = begin(at.port, { length: 0, part: '', signature: signatureOf('') });
    none.end();
    assert.equal(await statusOf(none), 200);
  });

  it('few large bodies are held at once, and small ones are not delayed', async () => {
    const received: string[] = [];
    await using at = await restServer(webhooks(received, { webhooksAtOnce: 3 }));
    const halves = [1, 2, 3].map(() =>
      begin(at.port, { length: 500_000, part: 'x'.repeat(5_000), signature: 'sha256=00' }),
    );
    await waitUntil('three are held', () =>
      halves.every((call) => call.reusedSocket || call.socket?.connecting === false),
    );
    const large = 'y'.repeat(10_000);
    const send = async (body: string) => {
      const call = begin(at.port, { length: body.length, part: body, signature: signatureOf(body) });
      call.end();
      return statusOf(call);
    };
    const refusals: unknown[] = [];
    for (let tries = 0; tries < 50 && !refusals.includes(503); tries += 1) refusals.push(await send(large));
    assert.equal(refusals.at(-1), 503);
    assert.equal(await send('small'), 200);
    for (const call of halves) call.destroy();
    let status: unknown = 503;
    for (let tries = 0; tries < 200 && status === 503; tries += 1) status = await send(large);
    assert.equal(status, 200);
  });

  it('a body that does not end in time is 408, and one whose sender disconnects is no error of the node', async () => {
    await using at = await restServer(webhooks([], { webhookTimeoutMs: 200 }));
    const half = { length: 100, part: 'x', signature: 'sha256=00' };
    assert.equal(await statusOf(begin(at.port, half)), 408);
    const headers = { 'x-svc-signature': 'sha256=00', 'content-length': 100, expect: '100-continue' };
    const gone = request({ port: at.port, host: '127.0.0.1', path: '/v1/webhooks/mail', method: 'POST', headers });
    gone.on('error', () => {});
    gone.flushHeaders();
    await once(gone, 'continue');
    const said = at.logged.length;
    gone.destroy();
    await waitUntil('the node has seen it', () => at.logged.length > said, 5_000);
    assert.deepEqual(
      at.logged.filter((line) => /"level":[56]0/.test(line)),
      [],
    );
  });
});
