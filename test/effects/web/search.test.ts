import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { SvcError } from '../../../runtime/errors.ts';
import type { Web } from '../../../usecases/ports/web.ts';
import { refusingPort } from '../../support/free-port.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { serve, webOver } from './page-server.ts';

/**
 * Servers that implement the providers' protocols over real sockets, as the providers document them. No test calls a
 * provider.
 */

const KEY = 'key-hunter2-secret';
const HITS = [1, 2, 3].map((n) => ({ title: `t${n}`, url: `https://e.example/${n}`, content: `c${n}`, score: 1 }));

type Handle = (request: IncomingMessage, body: string) => { readonly status: number; readonly body: unknown };

const json = (handle: Handle) => (request: IncomingMessage, response: ServerResponse) => {
  textOf(request).then((body) => {
    const answer = handle(request, body);
    response.writeHead(answer.status, { 'content-type': 'application/json', location: 'http://127.0.0.1:1/' });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
};

const search = (web: Web, max_results = 10, signal = new AbortController().signal) =>
  web.search({ text: ' what is it ', max_results }, signal);

const provider = (name: 'searxng' | 'brave' | 'tavily', port: number) =>
  webOver({ search: { provider: name, endpoint: `http://127.0.0.2:${port}/base/`, api_key: `literal:${KEY}` } });

describe('a search', () => {
  test('a search of SearXNG asks for JSON and reads title, URL and snippet', async () => {
    await using server = await serve(
      json((request) => {
        assert.equal(request.url, '/base/search?q=what+is+it&format=json');
        assert.equal(request.headers.authorization, `Bearer ${KEY}`);
        return { status: 200, body: { query: 'x', results: [...HITS, { url: 'https://bare.example/' }], answers: [] } };
      }),
    );
    const found = await search(provider('searxng', server.port));
    assert.deepEqual(found[0], { title: 't1', url: 'https://e.example/1', snippet: 'c1' });
    assert.deepEqual(found[3], { title: '', url: 'https://bare.example/', snippet: '' });
  });

  test('a search of Brave sends its token and reads the web results', async () => {
    await using server = await serve(
      json((request) => {
        assert.equal(request.url, '/base/res/v1/web/search?q=what+is+it&count=2');
        assert.equal(request.headers['x-subscription-token'], KEY);
        const results = HITS.map(({ content, ...hit }) => ({ ...hit, description: content }));
        return { status: 200, body: { type: 'search', web: { results } } };
      }),
    );
    const found = await search(provider('brave', server.port), 2);
    assert.deepEqual(
      found.map(({ snippet }) => snippet),
      ['c1', 'c2'],
    );
  });

  test('a search of Brave without web results finds nothing', async () => {
    await using server = await serve(json(() => ({ status: 200, body: { type: 'search' } })));
    assert.deepEqual(await search(provider('brave', server.port)), []);
  });

  test('a search of Tavily posts the query with the key as bearer, and asks for at most 20 results', async () => {
    await using server = await serve(
      json((request, body) => {
        assert.deepEqual([request.method, request.url], ['POST', '/base/search']);
        assert.equal(request.headers.authorization, `Bearer ${KEY}`);
        assert.deepEqual(JSON.parse(body), { query: 'what is it', max_results: 20 });
        return { status: 200, body: { results: Array(30).fill(HITS[0]) } };
      }),
    );
    assert.equal((await search(provider('tavily', server.port), 500)).length, 20);
  });

  test('a search without a provider is an error that names the setting', async () => {
    await assert.rejects(search(webOver()), { code: 'failed_precondition', message: /spec\.web\.search/ });
  });

  test('a search with an empty query, or for no results, is refused', async () => {
    const web = provider('brave', 1);
    const { signal } = new AbortController();
    for (const [text, max_results, field] of [
      ['  ', 1, 'query'],
      ['x'.repeat(1_001), 1, 'query'],
      ['x', 0, 'max_results'],
      ['x', 1.5, 'max_results'],
    ] as const) {
      await assert.rejects(web.search({ text, max_results }, signal), { code: 'invalid_argument', field });
    }
  });

  for (const status of [429, 500, 503]) {
    test(`a search is tried three times at status ${status}, with pauses`, async () => {
      await using server = await serve(json(() => ({ status, body: 'busy' })));
      const started = performance.now();
      await assert.rejects(search(provider('brave', server.port)), (error: SvcError) => {
        assert.equal(error.code, 'unavailable');
        assert.match(error.message, new RegExp(`HTTP status ${status}`));
        return true;
      });
      assert.equal(server.asked.length, 3);
      assert.ok(performance.now() - started >= 375);
    });
  }

  test('a search that succeeds at the third try is answered', async () => {
    let calls = 0;
    await using server = await serve(
      json(() => {
        calls += 1;
        return calls < 3 ? { status: 503, body: '' } : { status: 200, body: { results: HITS } };
      }),
    );
    assert.equal((await search(provider('tavily', server.port))).length, 3);
  });

  for (const [status, body, said] of [
    [401, `bad key ${KEY}`, /status 401; check spec\.web\.search\.api_key/],
    [403, KEY, /status 403; check spec\.web\.search\.api_key/],
    [400, KEY, /status 400/],
    [302, KEY, /status 302/],
    [200, `<html>${KEY}`, /did not answer with search results/],
    [200, { results: KEY }, /did not answer with search results/],
    [200, 'x'.repeat(5_000_000), /over 4194304 bytes/],
  ] as const) {
    test(`a search is not repeated at ${status} ${JSON.stringify(body).slice(0, 12)}, and the error does not contain the key`, async () => {
      await using server = await serve(json(() => ({ status, body })));
      await assert.rejects(search(provider('tavily', server.port)), (error: SvcError) => {
        assert.equal(error.code, 'failed_precondition');
        assert.match(error.message, said);
        assert.doesNotMatch(JSON.stringify([error.message, error.stack, error.cause]), /hunter2/);
        return true;
      });
      assert.equal(server.asked.length, 1);
    });
  }

  test('a search whose provider cannot be reached is unavailable, and the error does not contain the key', async () => {
    using refusing = await refusingPort();
    await assert.rejects(search(provider('brave', refusing.port)), (error: SvcError) => {
      assert.equal(error.code, 'unavailable');
      assert.match(error.message, /ECONNREFUSED/);
      assert.doesNotMatch(String(error.stack), /hunter2/);
      return true;
    });
  });

  test('a search ends when it is aborted', async () => {
    await using server = await serve(() => {});
    const stop = new AbortController();
    const ended = assert.rejects(search(provider('brave', server.port), 1, stop.signal), { code: 'cancelled' });
    await waitUntil('the provider to be asked', async () => (server.asked.length > 0 ? true : null));
    stop.abort(new SvcError('cancelled'));
    await ended;
  });

  test('a search with a key that is not set is an error that names the key', async () => {
    const resolveSecret = async () => Promise.reject(new SvcError('failed_precondition', 'env:NO is not set'));
    const web = webOver({ search: { provider: 'brave', api_key: 'env:NO' } }, { resolveSecret });
    await assert.rejects(search(web), { code: 'failed_precondition', message: 'env:NO is not set' });
  });
});
