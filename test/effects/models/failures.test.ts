import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import type { SvcError } from '../../../runtime/errors.ts';
import { refusingPort } from '../../support/free-port.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { ask, FORMATS, failureOf, KEY, providerAt } from './generate.ts';

/** Everything that an error could show: JSON, stack, causes, hidden fields. */
function assertNoKey(error: SvcError): void {
  const shown = [
    JSON.stringify(error),
    error.stack ?? '',
    error.message,
    inspect(error, { depth: 20, showHidden: true }),
  ];
  for (const text of shown) assert.ok(!text.includes(KEY), `the key is shown: ${text}`);
  assert.equal(error.cause, undefined);
}

describe('failures', { concurrency: FORMATS.length }, () => {
  for (const type of FORMATS) {
    describe(`over the wire of ${type}`, { concurrency: 1 }, () => {
      let server: ModelServer;
      before(async () => {
        server = await startModelServer();
      });
      after(() => server.stop());

      test('429 with Retry-After is tried again, not earlier than asked', async () => {
        server.script({ status: 429, headers: { 'retry-after': '0.3' }, body: '{}' }, { chunks: ['ok'] });
        const { result } = await ask({ providers: [providerAt(server, type)] });
        assert.equal(result.text, 'ok');
        const [first, second] = server.calls;
        assert.ok(first !== undefined && second !== undefined);
        assert.ok(second.atMs - first.atMs >= 295, `was tried again after ${second.atMs - first.atMs} ms`);
      });

      test('a Retry-After beyond the remaining time ends the call at once and is passed on', async () => {
        server.script({ status: 429, headers: { 'retry-after': '120' }, body: '{}' });
        const error = await failureOf({ providers: [providerAt(server, type)] });
        assert.equal(error.code, 'model_unavailable');
        assert.equal(error.retryAfterMs, 120_000);
        assert.equal(server.calls.length, 1);
      });

      test('two 500s and a 503 are retried until the call succeeds', async () => {
        const down = { status: 500, body: '{"error":{"message":"oops","type":"server_error"}}' };
        server.script(down, down, { status: 503, body: '' }, { chunks: ['back'] });
        assert.equal((await ask({ providers: [providerAt(server, type)] })).result.text, 'back');
        assert.equal(server.calls.length, 4);
      });

      test('an endless 500 is model_unavailable after max_retries', async () => {
        server.script({ status: 500, body: `{"error":{"message":"broken for ${KEY}","type":"x"}}` });
        const error = await failureOf({ providers: [providerAt(server, type)], selection: { max_retries: 2 } });
        assert.equal(error.code, 'model_unavailable');
        assert.match(error.message, /it answered 500/);
        assert.equal(server.calls.length, 3);
        assertNoKey(error);
      });

      for (const status of [400, 401, 403, 404]) {
        test(`${status} is final at once; the error names provider and model and never the key`, async () => {
          const message = `Bad key ${KEY}, sk-test-SEC*****def, Bearer ${KEY}`;
          const body = JSON.stringify({ type: 'error', error: { type: 'x', message, code: 1, status: 'X' } });
          server.script({ status, body, headers: { 'x-echo': KEY } });
          const error = await failureOf({ providers: [providerAt(server, type)] });
          assert.equal(error.code, 'model_refused');
          assert.equal(error.row.kind, 'terminal');
          assert.ok(error.message.includes(`"${type}"`) && error.message.includes('"some-model"'), error.message);
          assert.ok(error.message.includes(String(status)), error.message);
          assert.ok(!error.message.includes('sk-test'), error.message);
          assert.equal(server.calls.length, 1);
          assertNoKey(error);
        });
      }

      test('a redirect is not followed, so the key stays with the configured host', async () => {
        server.script({ status: 307, headers: { location: `${server.url}/v1/elsewhere` }, body: '' });
        const error = await failureOf({ providers: [providerAt(server, type)] });
        assert.equal(error.code, 'model_refused');
        assert.equal(server.calls.length, 1);
      });

      test('a stream cut in the middle is a new attempt of the effect, never a hidden restart', async () => {
        for (const cut of [{ cutAfter: 2 }, { endAfter: 2 }]) {
          server.script({ chunks: ['one ', 'two ', 'three'], delayMs: 20, ...cut });
          const chunks: string[] = [];
          const error = await failureOf({ providers: [providerAt(server, type)], chunks });
          assert.equal(error.code, 'model_unavailable');
          assert.equal(error.row.kind, 'retry');
          assert.ok('one two '.startsWith(chunks.join('')) && chunks.length > 0);
          assert.equal(server.calls.length, 1);
          assertNoKey(error);
        }
        server.script({ chunks: ['one ', 'two ', 'three'] });
        const again = await ask({ providers: [providerAt(server, type)], attempt: 2 });
        assert.equal(again.chunks.join(''), 'one two three');
      });

      test('a stream cut before the first chunk is tried again within the attempt', async () => {
        server.script({ chunks: ['x'], cutAfter: 0 }, { chunks: ['whole'] });
        assert.equal((await ask({ providers: [providerAt(server, type)] })).result.text, 'whole');
        assert.equal(server.calls.length, 2);
      });

      test('malformed JSON is tried again, then model_failed', async () => {
        for (const stream of [true, false]) {
          const body = stream ? 'data: {"choices": [{]}\n\n' : '{"choices": nonsense';
          server.script({
            status: 200,
            body,
            headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' },
          });
          const options = { providers: [providerAt(server, type)], selection: { max_retries: 1 }, input: { stream } };
          const error = await failureOf(options);
          assert.equal(error.code, 'model_failed', error.message);
          assert.equal(server.calls.length, 2);
          assertNoKey(error);
        }
      });

      test('JSON of another shape is model_failed', async () => {
        server.script({
          status: 200,
          body: 'data: {"hello": "world"}\n\n',
          headers: { 'content-type': 'text/event-stream' },
        });
        const error = await failureOf({ providers: [providerAt(server, type)], selection: { max_retries: 0 } });
        assert.ok(['model_failed', 'model_unavailable'].includes(error.code), error.message);
        assert.ok(server.calls.length === 1);
      });

      test('an error event in the middle of a stream is a new attempt', async () => {
        server.script({ chunks: ['so far'], streamError: { type: 'overloaded_error', message: `busy ${KEY}` } });
        const error = await failureOf({ providers: [providerAt(server, type)] });
        assert.equal(error.code, 'model_unavailable', error.message);
        assertNoKey(error);
      });

      test('a provider that never answers is abandoned after llm_overall_timeout_secs and its socket closed', async () => {
        server.script({ silent: true });
        const selection = { llm_overall_timeout_secs: 0.2 };
        const error = await failureOf({ providers: [providerAt(server, type)], selection });
        assert.equal(error.code, 'model_unavailable');
        assert.match(error.message, /no answer for 0.2 s/);
        await waitUntil('the server sees the socket close', () => server.calls[0]?.aborted === true);
      });

      test('a stream that falls silent is abandoned, a slow one is not', async () => {
        const selection = { llm_overall_timeout_secs: 1.2 };
        server.script({ chunks: ['a', 'b', 'c'], stallAfter: 1 });
        const error = await failureOf({ providers: [providerAt(server, type)], selection });
        assert.equal(error.code, 'model_unavailable');
        server.script({ chunks: ['a', 'b', 'c', 'd', 'e'], delayMs: 300 });
        assert.equal((await ask({ providers: [providerAt(server, type)], selection })).result.text, 'abcde');
      });

      test('an abort closes the socket, before and during the answer', async () => {
        for (const turn of [{ silent: true }, { endless: 'word ', delayMs: 5 }]) {
          server.script(turn);
          const cancel = new AbortController();
          const failing = failureOf({ providers: [providerAt(server, type)], signal: cancel.signal });
          await waitUntil('the request arrives', () => server.calls.length === 1);
          cancel.abort();
          assert.equal((await failing).code, 'cancelled');
          await waitUntil('the server sees the socket close', () => server.calls[0]?.aborted === true);
        }
      });

      test('an effect that is no longer wanted stops the model call', async () => {
        server.script({ endless: 'word ', delayMs: 1 });
        const error = await failureOf({ providers: [providerAt(server, type)], progress: async () => false });
        assert.equal(error.code, 'cancelled');
        await waitUntil('the server sees the socket close', () => server.calls[0]?.aborted === true);
      });

      test('an answer without end is stopped at the size limit with bounded memory', async () => {
        server.script({ endless: 'x'.repeat(60_000) });
        const error = await failureOf({ providers: [providerAt(server, type)] });
        assert.equal(error.code, 'model_failed');
        assert.match(error.message, /4194304 characters/);
        await waitUntil('the server sees the socket close', () => server.calls[0]?.aborted === true);
      });
    });
  }
});

describe('no server at all', () => {
  test('a refused connection is model_unavailable and shows no address', async () => {
    using refusing = await refusingPort();
    const server = { url: `http://127.0.0.1:${refusing.port}` } as ModelServer;
    const error = await failureOf({ providers: [providerAt(server, 'openai')], selection: { max_retries: 1 } });
    assert.equal(error.code, 'model_unavailable');
    assert.match(error.message, /ECONNREFUSED/);
    assert.ok(!error.message.includes(String(refusing.port)));
    assertNoKey(error);
  });

  test('a server that does not speak HTTP is model_unavailable and says so', async () => {
    const odd = createServer((socket) => socket.end('-ERR unknown command\r\n')).listen(0, '127.0.0.1');
    await once(odd, 'listening');
    const { port } = odd.address() as AddressInfo;
    const server = { url: `http://127.0.0.1:${port}` } as ModelServer;
    const error = await failureOf({ providers: [providerAt(server, 'openai')], selection: { max_retries: 1 } });
    odd.close();
    assert.equal(error.code, 'model_unavailable');
    assert.match(error.message, /the connection failed \(the answer is not HTTP\)/);
    assertNoKey(error);
  });

  test('a provider without its key is refused without a look into the environment', async () => {
    process.env.OPENAI_API_KEY = 'from-the-environment';
    const server = await startModelServer();
    try {
      const error = await failureOf({ providers: [providerAt(server, 'openai', { api_key: undefined })] });
      assert.match(error.message, /no api_key/);
      assert.equal(server.calls.length, 0);
    } finally {
      delete process.env.OPENAI_API_KEY;
      await server.stop();
    }
  });
});
