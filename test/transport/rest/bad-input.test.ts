import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ERRORS } from '../../../runtime/errors.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { restServer, UNKNOWN } from './rest-server.ts';

const json = { 'content-type': 'application/json' };

/** Sends bytes over a bare socket and returns the whole answer. */
async function exchange(
  port: number,
  ...parts: (string | Buffer)[]
): Promise<{ status: number; body: unknown; text: string }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  let text = '';
  let closed = false;
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  socket.on('close', () => {
    closed = true;
  });
  for (const part of parts) socket.write(part);
  const complete = () => closed || /\r\n\r\n\{[\s\S]*\}$/.test(text);
  await waitUntil('an answer', complete, 10_000);
  socket.destroy();
  const body = text.slice(text.indexOf('\r\n\r\n') + 4);
  return { status: Number(text.split(' ')[1]), body: body === '' ? null : JSON.parse(body), text };
}

const post = (length: number | string, body: string | Buffer, type = 'application/json'): (string | Buffer)[] => [
  `POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`,
  body,
];

describe('bad bodies', () => {
  const valid = JSON.stringify({ agent_id: UNKNOWN, input: 'hi' });
  const cases: [string, string | Buffer, RegExp][] = [
    ['broken JSON', '{"agent_id":', /not valid JSON/],
    ['broken UTF-8', Buffer.concat([Buffer.from('{"input":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]), /UTF-8/],
    ['JSON nested too deep', `{"context":${'['.repeat(101)}${']'.repeat(101)}}`, /deeper than 100/],
    ['an empty body', '', /^body: /],
    ['nothing but white space', ' '.repeat(5_000), /not valid JSON/],
    ['an array', '[]', /^body: /],
  ];
  for (const [title, body, expected] of cases) {
    it(`${title} is 400 and says so`, async () => {
      await using at = await restServer();
      const refused = await at.call('POST', '/v1/executions', { body, headers: json });
      assert.equal(refused.status, 400);
      assert.match(refused.body.error, expected);
    });
  }

  it('a member named __proto__ and a name twice are 400, written with escapes or not', async () => {
    await using at = await restServer();
    for (const context of ['{"__proto__":{"a":1}}', '{"deep":[{"\\u005f_proto__":1}]}', '{"a":1,"\\u0061":2}']) {
      const body = `{"agent_id":"${await at.deployed()}","input":"hi","context":${context}}`;
      const refused = await at.call('POST', '/v1/executions', { body, headers: json });
      assert.equal(refused.status, 400, context);
      assert.match(refused.body.error, /__proto__|same name twice/);
    }
    assert.equal(at.executions.starts.length, 0);
    const body = JSON.stringify({ agent_id: await at.deployed(), input: '__proto__', context: { kept: '__proto__' } });
    assert.equal((await at.call('POST', '/v1/executions', { body, headers: json })).status, 200);
  });

  it('a route takes as much as its class may have: fields 64 KiB, texts 1 MiB, payloads 16 MiB', async () => {
    await using at = await restServer();
    const send = async (path: string, bytes: number): Promise<number> => {
      const body = JSON.stringify({ x: 'x'.repeat(bytes - 8) });
      assert.equal(body.length, bytes);
      return (await at.call('POST', path, { body, headers: json })).status;
    };
    for (const [path, most] of [
      [`/v1/agents/${UNKNOWN}/scope`, 64 * 1024],
      ['/v1/executions', 16 * 1024 * 1024],
    ] as const) {
      assert.notEqual(await send(path, most), 413, path);
      assert.equal(await send(path, most + 1), 413, path);
    }
  });

  it('more than 100,000 values are 413, however few bytes they have', async () => {
    await using at = await restServer();
    const start = async (values: number) => {
      const context = { list: Array.from({ length: values }, () => 1) };
      const body = JSON.stringify({ agent_id: await at.deployed(), input: 'x', context });
      return (await at.call('POST', '/v1/executions', { body, headers: json })).status;
    };
    assert.equal(await start(99_995), 200);
    assert.equal(await start(99_996), 413);
  });

  it('names of more than 4 MiB in total are 413, even when they are few', async () => {
    await using at = await restServer();
    const start = async (bytes: number) => {
      const context = Object.fromEntries(
        Array.from({ length: 8 }, (_none, n) => [`${n}${'k'.repeat(bytes / 8 - 64)}`, 1]),
      );
      const body = JSON.stringify({ agent_id: await at.deployed(), input: 'x', context });
      return (await at.call('POST', '/v1/executions', { body, headers: json })).status;
    };
    assert.equal(await start(4 * 1024 * 1024), 200);
    assert.equal(await start(4 * 1024 * 1024 + 1024), 413);
  });

  it('a million opening brackets are refused quickly and the process stays up', async () => {
    await using at = await restServer();
    const refused = await at.call('POST', '/v1/executions', { body: '['.repeat(1_000_000), headers: json });
    assert.equal(refused.status, 400);
    assert.equal((await at.call('GET', '/health')).status, 200);
  });

  it('brackets inside strings are no depth', async () => {
    await using at = await restServer();
    const body = JSON.stringify({ agent_id: UNKNOWN, input: `"\\${'['.repeat(500)}` });
    assert.equal((await at.call('POST', '/v1/executions', { body, headers: json })).status, 404);
  });

  it('20 MB are 413, announced or chunked, and the connection is closed', async () => {
    await using at = await restServer();
    const big = Buffer.alloc(20_000_000, 'x');
    const announced = await exchange(at.port, post(big.length, '')[0] ?? '');
    assert.equal(announced.status, 413);
    assert.deepEqual(announced.body, { error: 'payload_too_large', message: ERRORS.payload_too_large.message });
    const chunkedHead =
      'POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    const chunked = await exchange(at.port, chunkedHead, `${big.length.toString(16)}\r\n`, big);
    assert.equal(chunked.status, 413);
    assert.match(chunked.text, /connection: close/i);
    assert.equal((await at.call('GET', '/health')).status, 200);
  });

  it('a body just under the limit is taken', async () => {
    await using at = await restServer();
    const body = JSON.stringify({ agent_id: await at.deployed(), input: 'x'.repeat(15 * 1024 * 1024) });
    assert.equal((await at.call('POST', '/v1/executions', { body, headers: json })).status, 200);
  });

  const encoded = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  for (const [headers, named] of [
    [{ 'content-type': 'text/plain' }, /^Content-Type: send application\/json, or application\/yaml for a manifest;/],
    [{ 'content-type': 'application/yaml' }, /^content-type: expected one that the API description lists/],
    [{ 'content-type': 'application/json; charset=latin1' }, /^content-type: expected the charset UTF-8/],
    [{ 'content-type': 'nonsense' }, /^content-type: expected/],
    [encoded, /^content-encoding: expected identity, or no such header/],
  ] as const) {
    it(`${JSON.stringify(headers)} is 415 and the error names the header`, async () => {
      await using at = await restServer();
      const refused = await at.call('POST', '/v1/executions', { body: valid, headers });
      assert.equal(refused.status, 415);
      assert.equal(refused.body.error, 'unsupported_media_type');
      assert.match(refused.body.message, named);
    });
  }

  it('Content-Encoding: identity is no encoding, in any case', async () => {
    await using at = await restServer();
    for (const encoding of ['identity', 'Identity']) {
      const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
      assert.equal((await at.call('POST', '/v1/executions', { body: valid, headers })).status, 404);
    }
  });

  it('a body of another length than announced never becomes a call', async () => {
    await using at = await restServer();
    const longer = await exchange(at.port, ...post(valid.length - 1, `${valid}xxxx`));
    assert.equal(longer.status, 400);
    const socket = connect(at.port, '127.0.0.1').on('error', () => {});
    for (const part of post(valid.length + 10, valid)) socket.write(part);
    socket.end();
    await at.call('GET', '/health');
    assert.equal(at.executions.starts.length, 0);
    socket.destroy();
  });
});

describe('bad requests', () => {
  it('an unknown path is 404, a wrong method 405 with the methods there are', async () => {
    await using at = await restServer();
    const unknown = await at.call('GET', '/v1/nothing');
    assert.deepEqual([unknown.status, unknown.body], [404, { error: 'not_found', message: 'There is no such path.' }]);
    for (const [method, path, allow] of [
      ['PUT', '/v1/agents', 'GET, HEAD, POST'],
      ['PUT', `/v1/agents/${UNKNOWN}?x=1`, 'DELETE, GET, HEAD, PATCH'],
      ['GET', `/v1/executions/${UNKNOWN}/cancel`, 'POST'],
      ['DELETE', '/health', 'GET, HEAD'],
      ['OPTIONS', '/v1/executions', 'GET, HEAD, POST'],
      ['PROPFIND', '/v1/agents', 'GET, HEAD, POST'],
    ] as const) {
      const wrong = await at.call(method, path, { headers: { 'content-type': 'text/plain' } });
      assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, allow], `${method} ${path}`);
      assert.equal(wrong.body.error, 'method_not_allowed');
    }
  });

  it('a query that is no valid percent-encoding is 400, and no filter compares with what is left of it', async () => {
    await using at = await restServer();
    for (const query of ['page_token=%ff', 'page_token=%', 'page_token=a&limit=%E0%80%AF']) {
      const refused = await at.call('GET', `/v1/agents?${query}`);
      assert.equal(refused.status, 400, query);
      assert.equal(refused.body.error, 'querystring: expected percent-encodings of valid UTF-8');
    }
  });

  it('a path that is no valid percent-encoding, or too long, is 400', async () => {
    await using at = await restServer();
    for (const path of [
      '/v1/agents/lookup/%E0%A4%A',
      '/v1/agents/lookup/%ff',
      `/v1/agents/lookup/${'a'.repeat(300)}`,
    ]) {
      const refused = await exchange(at.port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      assert.equal(refused.status, 400, path);
      assert.match(JSON.stringify(refused.body), /^\{"error":"/);
    }
  });

  it('too many header bytes are 431, broken HTTP is 400, both as JSON', async () => {
    await using at = await restServer();
    const large = await exchange(
      at.port,
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
    );
    assert.deepEqual([large.status, (large.body as { error: string }).error], [431, 'headers_too_large']);
    const broken = await exchange(at.port, 'NONSENSE\r\n\r\n');
    assert.deepEqual([broken.status, (broken.body as { error: string }).error], [400, 'invalid_argument']);
    const twoLengths = 'POST /v1/executions HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx';
    assert.equal((await exchange(at.port, twoLengths)).status, 400);
    const noHost = await exchange(at.port, 'GET /health HTTP/1.1\r\n\r\n');
    const message = 'host: expected one header';
    assert.deepEqual([noHost.status, noHost.body], [400, { error: 'invalid_argument', message }]);
    assert.equal((await exchange(at.port, 'GET /health HTTP/1.0\r\n\r\n')).status, 200);
  });

  it('a request whose end or host is ambiguous is 400, and nothing behind it is read', async () => {
    await using at = await restServer();
    const chunks = '7\r\n{"a":1}\r\n0\r\n\r\n';
    const sent = (headers: readonly string[], body = chunks): string =>
      ['POST /v1/executions HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', ...headers, '', body].join(
        '\r\n',
      );
    const inChunks = (body: string): string => sent(['Transfer-Encoding: chunked'], body);
    const ambiguous = [
      ...['7, 7', '+7', '-7', '0x7', '7 0', '', '\r\n 7', '9'.repeat(30)].map((length) =>
        sent([`Content-Length: ${length}`], '{"a":1}'),
      ),
      ...['7', '50'].map((length) => sent(['Content-Length: 7', `Content-Length: ${length}`], '{"a":1}')),
      sent(['Content-Length: 7', 'Transfer-Encoding: chunked']),
      sent(['Transfer-Encoding: chunked', 'Content-Length: 7']),
      ...[
        'identity',
        'xchunked',
        'chunked, identity',
        'chunked, chunked',
        '\r\n chunked',
        '\x0bchunked',
        '"chunked"',
      ].map((coding) => sent([`Transfer-Encoding: ${coding}`])),
      ...['identity', 'chunked'].map((coding) => sent(['Transfer-Encoding: chunked', `Transfer-Encoding: ${coding}`])),
      sent(['Transfer-Encoding : chunked']),
      sent(['Transfer-Encoding: chunked', ' , identity']),
      sent(['X: a\rTransfer-Encoding: chunked', 'Content-Length: 7'], '{"a":1}'),
      sent(['X: a\0b', 'Content-Length: 7'], '{"a":1}'),
      sent(['Content-Length: 7'], '{"a":1}').replaceAll('\r\n', '\n'),
      ...['fffffffffffffffff7', '-7', '0x7', '7_0', '7;a\nb'].map((size) =>
        inChunks(`${size}\r\n{"a":1}\r\n0\r\n\r\n`),
      ),
      ...['7\n{"a":1}\n0\n\n', '7\r\n{"a":1}0\r\n\r\n'].map(inChunks),
      'POST /v1/executions HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b: c\r\n\r\n',
      'GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n',
      'GET /health HTTP/1.1\r\n\r\n',
      'GET /hea lth HTTP/1.1\r\nHost: localhost\r\n\r\n',
    ];
    const smuggled = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const wrong: unknown[] = [];
    for (const request of ambiguous) {
      const socket = connect(at.port, '127.0.0.1').on('error', () => {});
      socket.write(`${request}${smuggled}`, 'latin1');
      const answers = [...(await text(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
      if (answers.join() !== '400') wrong.push([request, answers]);
    }
    assert.deepEqual(wrong, []);
  });

  it('a client that sends its request too slowly is 408 and cut off', async () => {
    await using at = await restServer({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 400 } });
    const slowHead = await exchange(at.port, 'GET /health HTTP/1.1\r\nHost: lo');
    assert.deepEqual([slowHead.status, (slowHead.body as { error: string }).error], [408, 'request_timed_out']);
    const slowBody = await exchange(at.port, ...post(100, '{'));
    assert.equal(slowBody.status, 408);
  });

  it('a client that reads nothing of its answers is cut off; one that waits for its answer is not', async () => {
    await using at = await restServer({ limits: { unreadTimeoutMs: 100 } });
    const open = (): Promise<number> =>
      new Promise((resolve, reject) =>
        at.app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
      );
    await at.call('GET', '/v1/openapi.json', { headers: { connection: 'close' } });
    const socket = connect(at.port, '127.0.0.1').on('error', () => {});
    // More than the system buffers for a client.
    socket.pause().write('GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(50));
    await waitUntil('it is connected', async () => (await open()) > 0);
    await waitUntil('it is cut off', async () => (await open()) === 0);
    socket.destroy();
    const id = await at.startRun();
    const status = at.executions.status.bind(at.executions);
    at.executions.status = async (viewer, executionId) => {
      // Works for longer than a client may stop reading.
      await pause(300);
      return status(viewer, executionId);
    };
    assert.equal((await at.call('GET', `/v1/executions/${id}`)).status, 200);
  });

  it('a client that sends requests without end, and waits for no answer, is cut off', async () => {
    await using at = await restServer();
    const send = async (requests: number): Promise<number> => {
      const socket = connect(at.port, '127.0.0.1').on('error', () => {});
      const last = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
      socket.write(last.replace('Connection: close\r\n', '').repeat(requests - 1) + last);
      let got = '';
      socket.setEncoding('utf8').on('data', (chunk) => {
        got += chunk;
      });
      await new Promise((resolve) => socket.once('close', resolve));
      return [...got.matchAll(/HTTP\/1\.1 200/g)].length;
    };
    assert.equal(await send(50), 50);
    const before = at.logged.length;
    assert.ok((await send(5_000)) < 51);
    assert.equal(at.logged.length, before);
    assert.equal((await at.call('GET', '/health')).status, 200);
  });

  it('as many files of /docs are open as may be, however slowly their clients read', async () => {
    await using at = await restServer({ limits: { docsAtOnce: 2 } });
    const slow = [0, 1].map(() => {
      const socket = connect(at.port, '127.0.0.1').on('error', () => {});
      socket.pause().write('GET /docs/static/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20));
      return socket;
    });
    const page = async (): Promise<number> => (await at.call('GET', '/docs/static/index.html')).status;
    await waitUntil('both are read slowly', async () => (await page()) === 503);
    for (const socket of slow) socket.destroy();
    await waitUntil('both are gone', async () => (await page()) === 200);
  });

  it('no error text names files, stacks or other tenants', async () => {
    await using at = await restServer();
    at.executions.failure = new TypeError('at /srv/node/x.ts:1 token=abc');
    const failed = await at.call('GET', `/v1/executions/${UNKNOWN}`);
    assert.deepEqual(
      [failed.status, failed.body],
      [500, { error: 'An internal error occurred. The log of the node has the cause.' }],
    );
    assert.ok(
      at.logged.some((line) => line.includes('token=abc')),
      'the cause is in the log of the node',
    );
  });
});

describe('closing', () => {
  it('does not wait without end for a client that never finishes its request', async () => {
    await using at = await restServer({ limits: { closeGraceMs: 100 } });
    const socket = connect(at.port, '127.0.0.1').on('error', () => {});
    let closed = false;
    socket.on('close', () => {
      closed = true;
    });
    socket.write(post(100, '{').join(''));
    await at.call('GET', '/health');
    await at.app.close();
    await waitUntil('the late client to be cut off', () => closed);
  });
});

describe('every answer', () => {
  it('has headers against sniffing, framing and caching', async () => {
    await using at = await restServer();
    for (const path of ['/health', '/v1/agents', '/nothing', `/v1/agents/${UNKNOWN}`]) {
      const { headers } = await at.call('GET', path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(headers.get('x-frame-options'), 'DENY', path);
      assert.equal(headers.get('cache-control'), 'no-store', path);
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/, path);
    }
  });

  it('carries the trace of the call on, and starts one when the header is none', async () => {
    await using at = await restServer();
    const trace = '0af7651916cd43dd8448eb211c80319c';
    const agent_id = await at.deployed();
    const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` };
    const started = await at.postJson('/v1/executions', { agent_id, input: 'x' }, headers);
    assert.match(started.headers.get('traceparent') ?? '', new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
    assert.equal(at.executions.starts[0]?.options?.trace, trace);
    for (const bad of ['x', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `ff-${trace}-b7ad6b7169203331-01`]) {
      const answer = await at.call('GET', '/health', { headers: { traceparent: bad } });
      assert.doesNotMatch(answer.headers.get('traceparent') ?? '', new RegExp(`${trace}|0{32}`));
    }
  });
});
