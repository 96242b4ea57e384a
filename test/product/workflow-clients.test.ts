import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { type Answer, objectOf, ProductNode } from './product-node.ts';
import { DONE, workflowText } from './tenant-objects.ts';

const SECRET = 'the-shared-secret-of-the-shop-4711';
const YAML = { 'content-type': 'application/yaml' };

describe('an independent client of the workflows of a node', () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start({ env: { SVC_WEBHOOK_SECRET_SHOP: SECRET } });
    await deploy('gate', { gate: { kind: 'Human', prompt: 'Go on?', transitions: [{ target: 'done' }] }, done: DONE });
  });
  after(() => node[Symbol.asyncDispose]());

  async function deploy(name: string, states: object): Promise<void> {
    const answer = await node.call('POST', '/v1/workflows?force=true', {
      body: workflowText(name, states),
      headers: YAML,
    });
    assert.equal(answer.status, 200, answer.text);
  }

  async function start(name: string, body: object | string = {}): Promise<string> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    const answer = await node.call('POST', `/v1/workflows/${name}/run`, { body: text, headers });
    assert.equal(answer.status, 200, answer.text);
    return String(answer.body.execution_id);
  }

  const pathOf = (id: string): string => `/v1/workflows/executions/${id}`;
  const until = (id: string, status: string): Promise<Answer['body']> =>
    waitUntil(`run ${id} is ${status}`, async () => {
      const { body } = await node.call('GET', pathOf(id));
      return body.status === status && body;
    });

  test('a run that failed gives the reason in words, alone and in the list', async () => {
    await deploy('fails', {
      a: { kind: 'System', command: 'exit 3', transitions: [{ condition: 'on_success', target: 'done' }] },
      done: DONE,
    });
    const id = await start('fails');
    const failed = await until(id, 'failed');
    const said = ['command_failed', 'state a: the command ended with exit code 3'];
    assert.deepEqual([failed.reason, Object(failed.error).message], said);
    await waitUntil('the list has it', async () => {
      const { text } = await node.call('GET', '/v1/workflows/executions?status=failed');
      return text.includes(`"message":"${said[1]}"`);
    });
  });

  test('an unknown version, an invalid source and a body that is too large each have their own error', async () => {
    const version = await node.json('POST', '/v1/workflows/gate/run', { version: '9.9.9' });
    assert.deepEqual([version.status, version.body.message], [404, 'workflow version not found']);
    const source = await node.json('POST', '/v1/stimuli', { source: 'a\0b', content: 'x' });
    assert.equal(source.status, 400);
    assert.match(String(source.body.message), /^source: expected /);
    const large = await webhook('x'.repeat(1024 * 1024 + 1));
    assert.deepEqual([large.status, large.body.message], [413, 'the body is larger than 1048576 bytes']);
    const allow = await node.call('PATCH', '/v1/workflows/validate');
    assert.deepEqual([allow.status, allow.headers.get('allow')], [405, 'POST']);
  });

  test('names that every object has are values like others: in the input, on the blackboard and in templates', async () => {
    await deploy('names', {
      a: {
        kind: 'System',
        command: 'update_blackboard',
        env: { hasOwnProperty: '{{input.constructor}}', seen: '{{blackboard.toString}} {{blackboard.valueOf}}' },
        transitions: [{ target: 'done' }],
      },
      done: { ...DONE, env: { all: '{{blackboard.hasOwnProperty}} {{blackboard.seen}} {{input.__proto__}}' } },
    });
    const id = await start('names', '{"input":{"constructor":"c"},"blackboard":{"toString":"t"}}');
    const prototype = '{"input":{"__proto__":{"x":1}}}';
    const refused = await node.call('POST', '/v1/workflows/names/run', {
      body: prototype,
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual([refused.status, refused.body.message], [400, 'the body has a member named __proto__']);
    const { output, blackboard } = await until(id, 'completed');
    assert.deepEqual(output, {
      all: 'c t [missing: blackboard.valueOf in a] [missing: input.__proto__ in done]',
    });
    assert.deepEqual(Object.keys(Object(blackboard)).sort(), ['a', 'done', 'hasOwnProperty', 'seen', 'toString']);
  });

  async function webhook(body: string): Promise<Answer> {
    const digest = createHmac('sha256', SECRET).update(body).digest('hex');
    return node.call('POST', '/v1/webhooks/shop', {
      body,
      headers: {
        'x-svc-signature': `sha256=${digest}`,
        authorization: 'Bearer of-the-sender',
        cookie: 'session=of-the-sender',
        'x-api-key': 'key-of-the-sender',
      },
    });
  }

  test('the secret of a webhook, its signature and other authenticating headers are shown nowhere', async () => {
    await deploy('told', { done: { ...DONE, env: { all: '{{json blackboard}} {{json input}}' } } });
    assert.equal((await node.json('PUT', '/v1/stimuli/routes/shop', { workflow: 'told' })).status, 200);
    const taken = await webhook('{"order":1}');
    assert.equal(taken.status, 200, taken.text);
    const id = String(taken.body.workflow_execution_id);
    await until(id, 'completed');
    const texts = [node.process.log];
    for (const path of [pathOf(id), `${pathOf(id)}/logs`, `/v1/stimuli/${taken.body.stimulus_id}`, '/v1/stimuli']) {
      texts.push((await node.call('GET', path)).text);
    }
    assert.match(texts.join('\n'), /"order/);
    const digest = createHmac('sha256', SECRET).update('{"order":1}').digest('hex');
    for (const word of [SECRET, digest, 'of-the-sender']) assert.ok(!texts.join('\n').includes(word), word);
  });

  test('a hundred starts with one key are one run, and a hundred answers of all kinds are one answer', async () => {
    const ask = (): Promise<Answer> => node.json('POST', '/v1/workflows/gate/run', {}, { 'idempotency-key': 'once' });
    const started = await Promise.all(Array.from({ length: 100 }, ask));
    const ids = new Set(started.map(({ body }) => String(body.execution_id)));
    assert.equal(ids.size, 1);
    const [id = ''] = ids;
    const { waiting_for: wait } = await until(id, 'waiting_for_human_input');
    const approval = `/v1/human-approvals/${Object(wait).approval_id}`;
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_answer, index) => {
        if (index % 3 === 0) return node.json('POST', `${pathOf(id)}/signal`, { response: `signal ${index}` });
        if (index % 3 === 1) return node.json('POST', `${approval}/approve`, { feedback: `yes ${index}` });
        return node.json('POST', `${approval}/reject`, { reason: `no ${index}` });
      }),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual([statuses[0], statuses[1], statuses[99]], [200, 409, 409]);
    await until(id, 'completed');
  });

  test('a client that follows a run over a crash of its node sees every event once, in order, and then 204', async () => {
    const id = await start('gate');
    await until(id, 'waiting_for_human_input');
    const seen: number[] = [];
    const names: string[] = [];
    const following = follow(id, seen, names);
    await waitUntil('the follower has seen the question', () => names.includes('WorkflowHumanInputRequested'));
    await node.process.kill('SIGKILL');
    await node.spawn();
    const signal = () => node.json('POST', `${pathOf(id)}/signal`, { response: 'yes' });
    await waitUntil('the answer is accepted', async () => (await signal()).status !== 503);
    await following;
    assert.deepEqual(
      seen,
      seen.map((_seq, index) => index + 1),
    );
    assert.equal(names.at(-1), 'WorkflowExecutionCompleted');
  });

  /** Like an EventSource: reconnects after the last event that it received, until the stream has ended. */
  async function follow(id: string, seen: number[], names: string[]): Promise<void> {
    await waitUntil(
      `the stream of ${id} to end`,
      async () => {
        const headers = { accept: 'text/event-stream', 'last-event-id': String(seen.at(-1) ?? '') };
        const response = await fetch(`${node.url}${pathOf(id)}/stream`, { headers }).catch(() => null);
        if (response?.status === 204) return true;
        if (!response?.ok || response.body === null) return false;
        let rest = '';
        try {
          for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
            const records = `${rest}${piece}`.split('\n\n');
            rest = records.pop() ?? '';
            for (const record of records) {
              const [, number, data] = /^id: (\d+)\ndata: (.*)$/.exec(record) ?? [];
              if (number === undefined) continue;
              seen.push(Number(number));
              names.push(...Object.keys(objectOf(data ?? '')));
            }
          }
        } catch {
          // The node died in the middle: what came whole counts.
        }
        return false;
      },
      30_000,
    );
  }
});
