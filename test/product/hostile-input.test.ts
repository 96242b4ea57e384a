import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { waitUntil } from '../support/wait-until.ts';
import { type Answer, agentYaml, objectOf, ProductNode } from './product-node.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const YAML = { 'content-type': 'application/yaml' };
const JSON_TYPE = { 'content-type': 'application/json' };

const head = (type: string, extra: string): string =>
  `POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n${extra}\r\n\r\n`;

const valid = { agent_id: UNKNOWN, input: 'x' };

/** Fields of the body of POST /v1/executions, with values of wrong types. */
const WRONG_TYPES: readonly (readonly [field: string, values: readonly unknown[]])[] = [
  ['agent_id', [1, null, true, [], {}, '', 'x', `${UNKNOWN}0`, ` ${UNKNOWN}`]],
  ['input', [1, null, false, [], {}]],
  ['version', [1, null, [], {}, '']],
  ['context', [1, 'x', true, []]],
];

const agent = (lines: string): string =>
  `apiVersion: svc.dev/v1\nkind: Agent\nmetadata: { name: bad, version: "1.0.0" }\n${lines}`;

function bomb(levels: number): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let at = 1; at < levels; at += 1)
    lines.push(
      `a${at}: &a${at} [${Array(10)
        .fill(`*a${at - 1}`)
        .join(', ')}]`,
    );
  return `${lines.join('\n')}\n`;
}

const MANIFESTS: readonly (readonly [title: string, yaml: string, expected: RegExp])[] = [
  ['a duplicate key', agent('spec: {}\nspec: {}\n'), /duplicate key/],
  ['an alias bomb', agent(bomb(9)), /alias/],
  ['an alias of itself', agent('spec: &a { x: *a }\n'), /alias/],
  ['a deep tree', agent(`spec: ${'['.repeat(5_000)}${']'.repeat(5_000)}\n`), /deep|nested/],
  ['two documents', `${agent('spec: {}\n')}---\n${agent('spec: {}\n')}`, /document/],
  ['a tag', agent('spec: !!js/function "x"\n'), /tag/],
  ['a name of the prototype', agent('spec: { __proto__: { x: 1 } }\n'), /__proto__|unknown|unexpected/i],
  ['a number for a map', agent('spec: 7\n'), /spec.*expected a map/],
  ['a text for a number', agent('spec: { execution: { max_iterations: many } }\n'), /max_iterations.*expected/],
  [
    'a catastrophic pattern',
    agent(`spec: { execution: { validation: [{ type: regex, pattern: "(?=a)" }] } }\n`),
    /pattern/,
  ],
];

describe('invalid requests', () => {
  let node: ProductNode;
  before(async () => {
    node = await ProductNode.start();
  });
  after(() => node[Symbol.asyncDispose]());

  /** Writes bytes to a raw socket and reads until it is closed or an answer is complete. */
  async function exchange(parts: readonly (string | Uint8Array)[]): Promise<{ status: number; text: string }> {
    const socket = connect(node.port, '127.0.0.1').on('error', () => {});
    let text = '';
    let closed = false;
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('close', () => {
      closed = true;
    });
    for (const part of parts) socket.write(part);
    await waitUntil('an answer', () => closed || /\r\n\r\n\{[\s\S]*\}$/.test(text), 30_000);
    socket.destroy();
    return { status: Number(text.split(' ')[1]), text };
  }

  const goesOn = async (): Promise<void> => {
    assert.ok(!node.process.crashed, node.process.log);
    assert.equal((await node.call('GET', '/health/ready')).status, 200);
  };

  const post = (body: string | Uint8Array): Promise<Answer> =>
    node.call('POST', '/v1/executions', { body, headers: JSON_TYPE });

  test('a request of 20 MB is 413, with or without a length, before it is read', async () => {
    const big = Buffer.alloc(20_000_000, 'x');
    assert.equal((await exchange([head('application/json', `Content-Length: ${big.length}`)])).status, 413);
    const chunked = [head('application/json', 'Transfer-Encoding: chunked'), `${big.length.toString(16)}\r\n`, big];
    assert.equal((await exchange(chunked)).status, 413);
    await goesOn();
  });

  test('a request just under the limit is accepted, one above it is 413 and names the limit', async () => {
    const id = await node.deploy(agentYaml('big'));
    const tooLong = await node.json('POST', '/v1/executions', { agent_id: id, input: 'y'.repeat(1_048_577) });
    assert.deepEqual([tooLong.status, /the limit is 1048576/.test(tooLong.text)], [413, true], tooLong.text);
    const execution = await node.run(id, 'y'.repeat(1_048_000));
    const ended = await waitUntil('it has ended', async () => {
      const seen = await node.statusOf(execution);
      return seen.status !== 'running' && seen;
    });
    assert.equal(ended.status, 'completed', JSON.stringify(ended).slice(0, 500));
  });

  test('broken UTF-8, broken JSON and deep JSON are 400 with the reason', async () => {
    const cases: readonly (readonly [string | Uint8Array, RegExp])[] = [
      [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
      ['{"agent_id":', /not valid JSON/],
      [`{"context":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`, /deeper than 100/],
      ['['.repeat(5_000_000), /deeper than 100/],
      ['null', /body/],
      ['"x"', /body/],
    ];
    for (const [body, expected] of cases) {
      const answer = await post(body);
      assert.deepEqual([answer.status, expected.test(answer.text)], [400, true], answer.text);
    }
    await goesOn();
  });

  test('a wrong type of any field is 400 and names the field', async () => {
    for (const [field, values] of WRONG_TYPES) {
      for (const value of values) {
        const answer = await post(JSON.stringify({ ...valid, [field]: value }));
        assert.equal(answer.status, 400, `${field} ${JSON.stringify(value)}: ${answer.text}`);
        assert.match(answer.text, field === 'agent_id' ? /invalid agent id|agent_id/ : new RegExp(field));
      }
    }
    for (const [path, field] of [
      ['/v1/executions?limit=x', 'limit'],
      ['/v1/executions?limit=0', 'limit'],
      ['/v1/executions?limit=1e3', 'limit'],
      ['/v1/executions?skip=-1', 'skip'],
      ['/v1/executions?skip=1000001', 'skip'],
      ['/v1/executions?status=odd', 'status'],
      ['/v1/executions?agent_id=x', 'agent id'],
      [`/v1/executions/${UNKNOWN}/stream?last_event_id=x`, 'last_event_id'],
      ['/v1/agents?limit=1&limit=2', 'limit'],
      ['/v1/agents/lookup/%ff', 'percent-encoding'],
      ['/v1/executions/..%2f..%2fetc', 'invalid execution id'],
    ] as const) {
      const answer = await node.call('GET', path);
      assert.deepEqual([answer.status, answer.text.includes(field)], [400, true], `${path}: ${answer.text}`);
    }
  });

  test('an invalid manifest is 422 with the place of the error, in any format', async () => {
    for (const [title, yaml, expected] of MANIFESTS) {
      const startedAt = performance.now();
      const answer = await node.call('POST', '/v1/agents', { body: yaml, headers: YAML });
      assert.deepEqual(
        [answer.status, expected.test(answer.text)],
        [422, true],
        `${title}: ${answer.text.slice(0, 400)}`,
      );
      assert.ok(performance.now() - startedAt < 10_000, title);
    }
    await goesOn();
  });

  test('a connection that is cut in mid-body starts nothing', async () => {
    const id = await node.deploy(agentYaml('cut'));
    const body = JSON.stringify({ agent_id: id, input: 'cut' });
    const sockets: Socket[] = [];
    for (let at = 0; at < 50; at += 1) {
      const socket = connect(node.port, '127.0.0.1').on('error', () => {});
      socket.write(head('application/json', `Content-Length: ${body.length}`) + body.slice(0, -1));
      sockets.push(socket);
    }
    await Promise.all(
      sockets.map((socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()).resetAndDestroy())),
    );
    await goesOn();
    const listed = await node.call('GET', `/v1/executions?agent_id=${id}`);
    assert.deepEqual(listed.body, { executions: [] });
  });

  test('a client that sends byte by byte is disconnected with 408 while others are served', async () => {
    const startedAt = performance.now();
    const slow = Array.from({ length: 100 }, () => {
      const socket = connect(node.port, '127.0.0.1').on('error', () => {});
      socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n');
      return socket;
    });
    const answers: string[] = [];
    for (const socket of slow) socket.setEncoding('utf8').on('data', (text: string) => answers.push(text));
    let letters = 0;
    const sender = setInterval(() => {
      letters += 1;
      for (const socket of slow) if (socket.writable) socket.write('X');
    }, 500);
    try {
      await goesOn();
      await waitUntil('all slow clients are cut off', () => slow.every((socket) => socket.closed), 60_000);
    } finally {
      clearInterval(sender);
    }
    assert.equal(answers.length, 100);
    for (const answer of answers) {
      assert.match(answer, /^HTTP\/1\.1 408 /);
      assert.equal(objectOf(answer.slice(answer.indexOf('{'))).error, 'request_timed_out');
    }
    console.log(`slow clients cut off after ${Math.round(performance.now() - startedAt)} ms, ${letters} letters`);
    await goesOn();
  });
});
