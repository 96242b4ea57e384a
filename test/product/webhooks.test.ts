import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { type Answer, ProductNode } from './product-node.ts';

const WORKFLOW = stringify({
  apiVersion: 'svc.dev/v1',
  kind: 'Workflow',
  metadata: { name: 'noted', version: '1.0.0', description: 'for a test' },
  spec: { initial_state: 'DONE', states: { DONE: { kind: 'System', command: 'finalize', transitions: [] } } },
});

const SECRET = 'a secret that only this test knows';
const BASE64 = Buffer.from(SECRET).toString('base64');
const [SECONDS, LIMIT] = [1_000, 300];

type Headers = Record<string, string>;
type Body = string | Uint8Array<ArrayBuffer>;
const hmac = (prefix: string, body: Body, secret = SECRET) => createHmac('sha256', secret).update(prefix).update(body);
const secondsAgo = (ago: number): string => String(Math.floor(Date.now() / SECONDS) - ago);

/** Headers of a delivery that was signed some seconds ago; `id` is the id that its sender uses. */
const SENDERS: Readonly<Record<string, (body: Body, ago: number, id: string) => Headers>> = {
  digest: (body, _ago, id) => ({
    ...{ 'x-svc-signature': `sha256=${hmac('', body).digest('hex')}`, 'x-idempotency-key': id },
  }),
  standard: (body, ago, id) => {
    const time = secondsAgo(ago);
    const signature = `v1,${hmac(`${id}.${time}.`, body).digest('base64')}`;
    return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature };
  },
  stripe: (body, ago) => {
    const time = secondsAgo(ago);
    return { 'stripe-signature': `t=${time},v1=${hmac(`${time}.`, body).digest('hex')}` };
  },
  slack: (body, ago) => {
    const time = secondsAgo(ago);
    const signature = `v0=${hmac(`v0:${time}:`, body).digest('hex')}`;
    return { 'x-slack-request-timestamp': time, 'x-slack-signature': signature };
  },
  github: (body, _ago, id) => ({
    ...{ 'x-hub-signature-256': `sha256=${hmac('', body).digest('hex')}`, 'x-github-delivery': id },
  }),
};
const TIMED = ['standard', 'stripe', 'slack'];
/** Their senders treat all statuses but 2xx as a failure, and try again. */
const ANSWERED = ['stripe', 'slack'];

describe('webhooks of a node', { timeout: 300_000 }, () => {
  let node: ProductNode;
  before(async () => {
    const webhooks = [
      { source: 'digest', repeat: 'digest' },
      { source: 'standard', scheme: 'standard-webhooks' },
      ...['stripe', 'slack', 'github'].map((source) => ({ source, scheme: source })),
      { source: 'rotated', scheme: 'github', secrets: ['secret:hooks/rotated', 'secret:hooks/rotated-before'] },
    ];
    const routes = webhooks.map(({ source }) => ({ source, workflow: 'noted' }));
    const env = {
      ...Object.fromEntries(Object.keys(SENDERS).map((name) => [`SVC_WEBHOOK_SECRET_${name.toUpperCase()}`, SECRET])),
      SVC_WEBHOOK_SECRET_STANDARD: `whsec_${BASE64}`,
    };
    node = await ProductNode.start({ spec: { stimulus: { webhooks, routes } }, env });
    const headers = { 'content-type': 'application/yaml' };
    const deployed = await node.call('POST', '/v1/workflows', { body: WORKFLOW, headers });
    assert.equal(deployed.status, 200, deployed.text);
  });
  after(async () => node[Symbol.asyncDispose]());

  const send = (source: string, body: Body, headers: Headers): Promise<Answer> =>
    node.call('POST', `/v1/webhooks/${source}`, { body, headers });

  for (const [source, sign] of Object.entries(SENDERS)) {
    test(`${source}: a delivery that is sent five times, concurrently and again, starts one run`, async () => {
      const body = `{"of": "${source}"}`;
      const headers = sign(body, 0, 'delivery-1');
      const first = await Promise.all([1, 2, 3, 4].map(() => send(source, body, headers)));
      const answers = [...first, await send(source, body, headers)];
      const runs = new Set(answers.map(({ body: { workflow_execution_id } }) => workflow_execution_id));
      const repeat = ANSWERED.includes(source) ? 200 : 409;
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, repeat, repeat, repeat, repeat]);
      assert.equal(answers.filter(({ body }) => body.error === undefined && body.duplicate === undefined).length, 1);
      assert.equal(runs.size, 1);
      assert.equal((await send(source, `${body} `, headers)).status, 401);
      const next = `{"of": "${source}", "n": 2}`;
      assert.equal((await send(source, next, sign(next, 0, 'delivery-2'))).status, 200);
    });

    test(`${source}: bytes that are not UTF-8 are hashed as they are`, async () => {
      const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at % 256);
      const signed = sign(bytes, 0, 'bytes');
      const taken = await send(source, bytes, signed);
      assert.equal(taken.status, 200, taken.text);
      bytes[50_000] = 1;
      assert.equal((await send(source, bytes, signed)).status, 401);
    });
  }

  for (const [source, member, prefix] of [
    ['stripe', 'id', 'evt_'],
    ['slack', 'event_id', 'Ev'],
  ] as const) {
    test(`${source}: an event that its sender signs again for each try starts one run, another event another run`, async () => {
      const sign = SENDERS[source] ?? assert.fail();
      const tries = async (id: string) => {
        const body = JSON.stringify({ [member]: `${prefix}${id}`, type: 'x' });
        const answers: Answer[] = [];
        for (const ago of [120, 60, 0]) answers.push(await send(source, body, sign(body, ago, '')));
        assert.deepEqual(
          answers.map(({ status, body: { duplicate } }) => [status, duplicate]),
          [
            [200, undefined],
            [200, true],
            [200, true],
          ],
        );
        const runs = new Set(answers.map(({ body: { workflow_execution_id } }) => workflow_execution_id));
        assert.equal(runs.size, 1);
        return [...runs];
      };
      assert.notDeepEqual(await tries('1'), await tries('2'));
    });
  }

  test('content up to the limits starts a run with all of it; larger content is 413', async () => {
    const sign = SENDERS.digest ?? assert.fail();
    const runOf = async ({ status, text, body }: Answer) => {
      assert.equal(status, 200, text);
      return (await node.call('GET', `/v1/workflows/executions/${body.workflow_execution_id}`)).body;
    };
    const MIB = 1024 * 1024;
    const json = (bytes: number): string => JSON.stringify({ of: 'x'.repeat(bytes - 9) });
    for (const body of [json(262_145), json(MIB), '\n"'.repeat(MIB / 2), new Uint8Array(MIB).fill(0xff)]) {
      await runOf(await send('digest', body, sign(body, 0, '')));
    }
    const over = json(MIB + 1);
    assert.deepEqual((await send('digest', over, sign(over, 0, ''))).status, 413);
    const stimulus = (content: string) => node.json('POST', '/v1/stimuli', { source: 'digest', content });
    for (const content of [json(2 * MIB), '\n"'.repeat(MIB)]) {
      const { input } = await runOf(await stimulus(content));
      const { content: whole, of } = Object(input);
      assert.ok(whole === content || of.length === content.length - 9, 'the input has all of it');
    }
    for (const content of [json(2 * MIB + 1), '\u0001'.repeat(2 * MIB)]) {
      const refused = await stimulus(content);
      assert.deepEqual([refused.status, refused.body.error], [413, 'payload_too_large'], refused.text);
    }
  });

  test('another key in its header does not make a recorded delivery a new one, where the digest is the key', async () => {
    const body = '{"recorded": true}';
    const sign = SENDERS.digest ?? assert.fail();
    const answers: Answer[] = [];
    for (const key of ['theirs', 'attacker-1', 'attacker-2', '']) {
      const { 'x-idempotency-key': _, ...bare } = sign(body, 0, key);
      answers.push(await send('digest', body, key === '' ? bare : { ...bare, 'x-idempotency-key': key }));
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 409, 409, 409],
    );
  });

  for (const source of TIMED) {
    test(`${source}: a delivery of four minutes ago or ahead is accepted, one of more than five is refused before its body`, async () => {
      const sign = SENDERS[source] ?? assert.fail();
      for (const [ago, status] of [
        [LIMIT - 60, 200],
        [60 - LIMIT, 200],
        [LIMIT + 5, 401],
        [-LIMIT - 5, 401],
      ] as const) {
        const body = `{"ago": ${ago}}`;
        const answer = await send(source, body, sign(body, ago, `ago${ago}`));
        assert.equal(answer.status, status, answer.text);
        if (status === 200) continue;
        assert.equal(answer.body.error, 'invalid_signature');
        assert.match(String(answer.body.message), /: expected a time within 300 s of the node's clock$/);
      }
    });
  }

  test('a secret is changed without a restart: old and new are both valid, then only the new one', async () => {
    const put = async (path: string, value: string) => {
      const answer = await node.json('PUT', `/v1/secrets/${encodeURIComponent(path)}`, { value });
      assert.ok(answer.status < 300, answer.text);
    };
    let id = 0;
    const by = async (secret: string) => {
      id += 1;
      const signature = `sha256=${hmac('', 'body', secret).digest('hex')}`;
      const answer = await send('rotated', 'body', { 'x-hub-signature-256': signature, 'x-github-delivery': `d${id}` });
      return answer.status === 200 ? 200 : answer.body.error;
    };
    assert.equal(await by('one'), 'secret_not_found');
    await put('hooks/rotated', 'one');
    assert.deepEqual([await by('one'), await by('two')], [200, 'invalid_signature']);
    await put('hooks/rotated-before', 'one');
    await put('hooks/rotated', 'two');
    assert.deepEqual([await by('one'), await by('two')], [200, 200]);
    const gone = await node.call('DELETE', `/v1/secrets/${encodeURIComponent('hooks/rotated-before')}`);
    assert.ok(gone.status < 300, gone.text);
    assert.deepEqual([await by('one'), await by('two')], ['invalid_signature', 200]);
  });

  test('a source without settings may have its secret in the store, from one delivery to the next', async () => {
    const by = async (secret: string) => {
      const signature = `sha256=${hmac('', 'body', secret).digest('hex')}`;
      return (await send('Kept.In-Store', 'body', { 'x-svc-signature': signature })).body.error;
    };
    assert.equal(await by('of the store'), 'secret_not_found');
    const path = encodeURIComponent('webhooks/kept.in-store');
    const made = await node.json('PUT', `/v1/secrets/${path}`, { value: 'of the store' });
    assert.ok(made.status < 300, made.text);
    assert.equal(await by('another'), 'invalid_signature');
    assert.notEqual(await by('of the store'), 'invalid_signature');
  });

  test('a secret that cannot be used is named in the log at start, and no value ever', () => {
    assert.match(
      node.process.log,
      /spec\.stimulus\.webhooks\[5\]: secret:hooks\/rotated of source rotated cannot be used/,
    );
    assert.doesNotMatch(node.process.log, new RegExp(`${SECRET}|${BASE64}`));
  });
});
