import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { addressOf } from '../../../runtime/address.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { stimulusNode } from '../../actors/stimulus/stimulus-node.ts';
import { startKernelNode } from '../../support/kernel-node.ts';
import { signedWebhooks } from '../../support/signed-webhooks.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AREA_KERNELS } from './area-kernel.ts';
import { namedUsers, restServer } from './rest-server.ts';

const SCHEMES = ['svc', 'standard-webhooks', 'stripe', 'slack', 'github'] as const;
type Scheme = (typeof SCHEMES)[number];
/** Schemes whose senders repeat a delivery after any status but 2xx. */
const ANSWERED: readonly Scheme[] = ['stripe', 'slack'];
const REFUSED = SCHEMES.filter((scheme) => !ANSWERED.includes(scheme));
const HOUR_MS = 3_600_000;

const secretOf = (source: string): string => `secret of ${source}`;
const settingsOf = (source: string, scheme: Scheme) => {
  const secret = Buffer.from(secretOf(source)).toString(scheme === 'standard-webhooks' ? 'base64' : 'utf8');
  return { source, scheme, secrets: [secret] };
};
const bodyOf = (id: string): string => JSON.stringify({ id: `evt_${id}`, event_id: `Ev${id}`, type: 'x' });

/** Headers as the sender of the scheme signs an event at a time. */
function headersOf(scheme: Scheme, id: string, atMs: number, secret: string): Record<string, string> {
  const body = bodyOf(id);
  const time = String(Math.floor(atMs / 1_000));
  const hmac = (prefix: string) => createHmac('sha256', secret).update(prefix).update(body);
  switch (scheme) {
    case 'svc':
      return { 'x-svc-signature': `sha256=${hmac('').digest('hex')}`, 'x-idempotency-key': id };
    case 'standard-webhooks': {
      const signature = `v1,${hmac(`${id}.${time}.`).digest('base64')}`;
      return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature };
    }
    case 'stripe':
      return { 'stripe-signature': `t=${time},v1=${hmac(`${time}.`).digest('hex')}` };
    case 'slack': {
      const signature = `v0=${hmac(`v0:${time}:`).digest('hex')}`;
      return { 'x-slack-request-timestamp': time, 'x-slack-signature': signature };
    }
    case 'github':
      return { 'x-hub-signature-256': `sha256=${hmac('').digest('hex')}`, 'x-github-delivery': id };
  }
}

for (const { name, missing, start } of AREA_KERNELS) {
  describe(`repeats of webhooks over REST, ${name}`, { skip: missing ?? false }, () => {
    let node: Awaited<ReturnType<typeof stimulusNode>>;
    let at: Awaited<ReturnType<typeof restServer>>;
    let seconds = 0;
    before(async () => {
      const routed = SCHEMES.map((scheme) => ({ source: scheme, workflow: 'deploy', scheme }));
      const broken = ANSWERED.map((scheme) => ({ source: `${scheme}-broken`, workflow: 'broken', scheme }));
      const sources = [...routed, ...broken];
      node = await stimulusNode({ start, configured: sources.map(({ source, workflow }) => ({ source, workflow })) });
      const settings = sources.map(({ source, scheme }) => settingsOf(source, scheme));
      at = await restServer({
        stimuli: node.stimuli,
        webhooks: signedWebhooks({}, settings),
        authenticator: namedUsers,
      });
    });
    after(async () => {
      await at[Symbol.asyncDispose]();
      await node.stop();
    });

    /** Each try is signed for another second, as senders do. */
    const send = (scheme: Scheme, id: string, { source = String(scheme), secret = secretOf(source) } = {}) => {
      seconds = (seconds + 1) % 200;
      const headers = headersOf(scheme, id, Date.now() - seconds * 1_000, secret);
      return at.call('POST', `/v1/webhooks/${source}`, { body: bodyOf(id), headers });
    };

    for (const scheme of ANSWERED) {
      test(`${scheme}: a repeat is answered 200 as the first delivery was, and starts nothing`, async () => {
        const before = node.started.length;
        const first = await send(scheme, 'twice');
        assert.deepEqual(Object.keys(first.body), ['stimulus_id', 'workflow_execution_id']);
        const again = await send(scheme, 'twice');
        assert.deepEqual([again.status, again.body], [200, { ...first.body, duplicate: true }]);
        assert.equal(node.started.length, before + 1);
      });

      test(`${scheme}: a repeat that is not signed, or with another secret, is 401`, async () => {
        assert.equal((await send(scheme, 'mine')).status, 200);
        const bare = await at.call('POST', `/v1/webhooks/${scheme}`, { body: bodyOf('mine') });
        assert.deepEqual([bare.status, bare.body.error], [401, 'missing_signature']);
        const forged = await send(scheme, 'mine', { secret: 'guessed' });
        assert.deepEqual([forged.status, forged.body.error], [401, 'invalid_signature']);
      });

      test(`${scheme}: a repeat that comes before the run has started waits for it`, async () => {
        const gate = Promise.withResolvers<void>();
        node.hold.start = gate.promise;
        const before = node.attempts.length;
        const first = send(scheme, 'held');
        await waitUntil('its start to be asked for', () => node.attempts.length > before);
        let isAnswered = false;
        const again = send(scheme, 'held').finally(() => {
          isAnswered = true;
        });
        await new Promise((resolve) => setTimeout(resolve, 300));
        assert.equal(isAnswered, false);
        gate.resolve();
        assert.deepEqual((await again).body, { ...(await first).body, duplicate: true });
      });

      test(`${scheme}: a repeat of one that cannot start fails as that does, so that its sender tries again`, async () => {
        const source = `${scheme}-broken`;
        const gate = Promise.withResolvers<void>();
        node.hold.start = gate.promise;
        const before = node.attempts.length;
        const first = send(scheme, 'lost', { source });
        await waitUntil('its start to be asked for', () => node.attempts.length > before);
        const again = send(scheme, 'lost', { source });
        await new Promise((resolve) => setTimeout(resolve, 300));
        gate.resolve();
        for (const { status, body } of await Promise.all([first, again]))
          assert.deepEqual([status, body.error], [500, 'workflow_error']);
      });
    }

    for (const scheme of REFUSED) {
      test(`${scheme}: a repeat is 409 with the ids of the first`, async () => {
        const first = await send(scheme, 'twice');
        assert.equal(first.status, 200, first.text);
        const { stimulus_id: original_stimulus_id, workflow_execution_id } = first.body;
        const { message, ...again } = (await send(scheme, 'twice')).body;
        const expected = { error: 'idempotent_duplicate', original_stimulus_id, workflow_execution_id };
        assert.deepEqual([typeof message, again], ['string', expected]);
      });
    }

    test('a bearer that names the id of an event as the key still gets a duplicate as 409', async () => {
      const first = await send('stripe', 'by-key');
      const headers = { authorization: 'Bearer operator' };
      const again = await at.postJson(
        '/v1/stimuli',
        { source: 'stripe', content: 'x', idempotency_key: 'evt_by-key' },
        headers,
      );
      assert.deepEqual([again.status, again.body.original_stimulus_id], [409, first.body.stimulus_id]);
    });

    test('the OpenAPI description has the mark of a repeat, for webhooks alone', async () => {
      const { paths } = (await at.call('GET', '/v1/openapi.json')).body;
      const fieldsOf = (path: string): string[] =>
        Object.keys(paths[path].post.responses['200'].content['application/json'].schema.properties);
      assert.deepEqual(fieldsOf('/v1/webhooks/{source}'), ['stimulus_id', 'workflow_execution_id', 'duplicate']);
      assert.deepEqual(fieldsOf('/v1/stimuli'), ['stimulus_id', 'workflow_execution_id']);
    });
  });
}

describe('the time during which a repeat of a webhook counts as a repeat', () => {
  /** Age of a delivery that is accepted as new again, and of one that is not. */
  const windows: readonly [Scheme, number, number][] = [
    ['stripe', 25, 97],
    ['stripe', 95, 97],
    ['slack', 23, 25],
    ['svc', 23, 25],
    ['standard-webhooks', 23, 25],
    ['github', 23, 25],
  ];
  for (const [scheme, within, later] of windows) {
    test(`${scheme}: after ${within} h it is, after ${later} h it is a new event, and no data of the first one stays`, async () => {
      let offMs = 0;
      const clock = {
        ...systemClock,
        now: () => systemClock.now() + offMs,
        monotonic: () => systemClock.monotonic() + offMs,
      };
      const node = await stimulusNode({
        start: (parts) => startKernelNode({ ...parts, clock }),
        configured: [{ source: 'shop', workflow: 'deploy' }],
      });
      const webhooks = signedWebhooks({}, [settingsOf('shop', scheme)], clock);
      const at = await restServer({ stimuli: node.stimuli, webhooks, authenticator: namedUsers });
      const send = () =>
        at.call('POST', '/v1/webhooks/shop', {
          body: bodyOf('old'),
          headers: headersOf(scheme, 'old', clock.now(), secretOf('shop')),
        });
      try {
        const first = await send();
        assert.equal(first.status, 200, first.text);
        offMs = within * HOUR_MS;
        const again = await send();
        assert.equal(again.status, ANSWERED.includes(scheme) ? 200 : 409, again.text);
        assert.equal(again.body.workflow_execution_id, first.body.workflow_execution_id);
        assert.equal(node.started.length, 1);
        offMs = later * HOUR_MS;
        const address = node.attempts[0]?.address ?? assert.fail('nothing was started');
        assert.equal(address, addressOf('stimulus', 'svc-system', address.split('/')[2] ?? ''));
        await waitUntil('its actor to leave', async () => (await node.kernel.runtime.client.read(address)) === null);
        const next = await send();
        assert.deepEqual([next.status, next.body.duplicate], [200, undefined], next.text);
        assert.equal(node.started.length, 2);
      } finally {
        await at[Symbol.asyncDispose]();
        await node.stop();
      }
    });
  }
});
