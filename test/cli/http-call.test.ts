import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import { CliFailure, EXIT } from '../../cli/failure.ts';
import { eventRecords } from '../../cli/follow.ts';
import { NodeClient } from '../../cli/node-client.ts';

async function server(t: TestContext, answer: RequestListener): Promise<string> {
  const listening = createServer(answer).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  t.after(() => {
    listening.closeAllConnections();
    listening.close();
  });
  const address = listening.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}`;
}

test('a redirect is followed', async (t) => {
  const url = await server(t, ({ url: path, headers }, response) => {
    if (path === '/old') response.writeHead(307, { location: '/new' }).end();
    else response.end(`${path} ${headers.authorization}`);
  });
  const client = new NodeClient({ url, token: 'mine' });
  assert.equal(await client.text('GET', '/old'), '/new Bearer mine');
});

test('a token that no header can hold is refused before anything is sent', async (t) => {
  let asked = 0;
  const url = await server(t, (_request, response) => {
    asked += 1;
    response.end();
  });
  const client = new NodeClient({ url, token: 'wörter und 語' });
  await assert.rejects(client.text('GET', '/'), (error) => {
    assert.ok(error instanceof CliFailure);
    assert.equal(error.exitCode, EXIT.connection);
    assert.match(error.message, /cannot reach \S+: Cannot convert argument to a ByteString/);
    return true;
  });
  assert.equal(asked, 0);
});

test('a server that speaks no TLS is named as that', async (t) => {
  const url = (await server(t, (_request, response) => response.end())).replace('http:', 'https:');
  await assert.rejects(new NodeClient({ url }).text('GET', '/'), {
    message: `cannot reach ${url}: ERR_SSL_WRONG_VERSION_NUMBER`,
  });
});

test('the time limit of a call counts for its whole answer', async (t) => {
  const url = await server(t, (request, response) => {
    if (request.url === '/half') response.write('{"half":');
  });
  const client = new NodeClient({ url });
  for (const path of ['/half', '/none'])
    await assert.rejects(client.json('GET', path, { timeoutMs: 300 }), {
      message: `cannot reach ${url}: no answer within 0.3 s`,
    });
});

test('an answer that is cut is asked for again when the call may be repeated, and said when not', async (t) => {
  let asked = 0;
  const url = await server(t, (request, response) => {
    asked += 1;
    if (asked > 2) return void response.end(`{"method":"${request.method}"}`);
    response.write('{"cut":');
    setTimeout(() => response.destroy(), 20);
  });
  const client = new NodeClient({ url });
  assert.deepEqual(await client.json('POST', '/', { json: {}, repeatable: true }), { method: 'POST' });
  assert.equal(asked, 3);
  asked = 0;
  await assert.rejects(client.json('POST', '/', { json: {} }), { message: `cannot reach ${url}: ECONNRESET` });
  assert.equal(asked, 1);
});

test('a body is sent with its length, by any method', async (t) => {
  const url = await server(t, (request, response) => {
    const { 'content-length': length, 'transfer-encoding': pieces = null } = request.headers;
    response.end(JSON.stringify({ length, pieces }));
  });
  const client = new NodeClient({ url });
  for (const method of ['POST', 'PUT', 'DELETE'])
    assert.deepEqual(await client.json(method, '/', { json: { it: 'ö' } }), { length: '11', pieces: null });
  assert.deepEqual(await client.json('POST', '/'), { length: '0', pieces: null });
});

test('a stream that is cut says so; one that is left closes its connection', async (t) => {
  const closed = Promise.withResolvers<void>();
  const url = await server(t, (request, response) => {
    response.write('data: {}\n\n');
    if (request.url === '/cut') setTimeout(() => response.destroy(), 20);
    else response.once('close', closed.resolve);
  });
  const client = new NodeClient({ url });
  const records = async (path: string, most: number): Promise<void> => {
    const body = await client.stream(path, 0, new AbortController().signal);
    assert.ok(body !== null);
    let seen = 0;
    for await (const _record of eventRecords(body, 10_000)) {
      seen += 1;
      if (seen === most) return;
    }
  };
  await assert.rejects(records('/cut', 2), { message: 'terminated' });
  await records('/left', 1);
  await closed.promise;
});

test('an error says what a user of the command line can do, once', async (t) => {
  const answers: readonly (readonly [status: number, said: string, shown: RegExp])[] = [
    [
      401,
      'A valid bearer token is needed: send it in authorization.',
      /needed: give it by --token or SVC_TOKEN, or save/,
    ],
    [403, "The caller's role does not allow the action inspect.", /inspect\. svc whoami shows what it allows\.$/],
    [429, 'at most 3 runs per hour; try again later.', /^at most 3 runs per hour; try again later\.$/],
    [503, 'The node drains.', /^The node drains\. Try again later\.$/],
  ];
  const url = await server(t, ({ url: path }, response) => {
    const [status, message] = answers[Number(path?.slice(1))] ?? [500, ''];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'code', message }));
  });
  for (const [index, [, , shown]] of answers.entries()) {
    await assert.rejects(new NodeClient({ url }).text('GET', `/${index}`), (error) => {
      assert.ok(error instanceof CliFailure);
      assert.match(error.message, shown);
      return true;
    });
  }
});
