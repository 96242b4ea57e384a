import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { MarkdownConversions } from '../../../effects/web/markdown.ts';
import type { WebParts } from '../../../effects/web/web.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { FetchedPage, FetchRequest } from '../../../usecases/ports/web.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { fetchFrom, serve, webOver } from './page-server.ts';

type Answer = {
  readonly type?: string;
  readonly body: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly status?: number;
};

const answering =
  ({ type, body, headers = {}, status = 200 }: Answer): RequestListener =>
  (_, response) => {
    response.writeHead(status, { ...(type === undefined ? {} : { 'content-type': type }), ...headers });
    response.end(body);
  };

/** A server with one page, which answers as given. */
async function page(
  answer: Answer,
  more: Partial<FetchRequest> = {},
  parts: Partial<WebParts> = {},
): Promise<FetchedPage> {
  await using server = await serve(answering(answer));
  const web = webOver({}, parts);
  return await fetchFrom(web, `http://127.0.0.2:${server.port}/a/b`, more);
}

const html = (body: string, head = '<title>T</title>') =>
  ({
    type: 'text/html; charset=utf-8',
    body: `<!doctype html><html><head>${head}</head><body>${body}</body></html>`,
  }) as const;

describe('a page', () => {
  test('a page of text is returned as it is, with status, address and type', async () => {
    const { url, ...rest } = await page({ type: 'text/plain; charset=utf-8', body: 'grüße\n' });
    assert.deepEqual(rest, { status: 200, content_type: 'text/plain', text: 'grüße\n', truncated: false });
    assert.match(url, /^http:\/\/127\.0\.0\.2:\d+\/a\/b$/);
  });

  test('a page is decoded by its own charset: header, byte order mark, meta, XML', async () => {
    const latin = Buffer.from('<html><head><meta charset="windows-1252"></head><body>caf\xe9</body></html>', 'latin1');
    for (const [answer, expected] of [
      [{ type: 'text/plain; charset=ISO-8859-1', body: Buffer.from('caf\xe9', 'latin1') }, 'café'],
      [{ type: 'text/plain; charset="shift_jis"', body: Buffer.from([0x93, 0xfa, 0x96, 0x7b]) }, '日本'],
      [{ type: 'text/plain', body: Buffer.from('\ufeffdé', 'utf16le') }, 'dé'],
      [{ type: 'text/plain; charset=no-such', body: 'é' }, 'é'],
      [{ type: 'text/html', body: latin }, latin.toString('latin1')],
      [
        {
          type: 'application/xml',
          body: Buffer.from('<?xml version="1.0" encoding="iso-8859-1"?><a>\xe9</a>', 'latin1'),
        },
        '<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>',
      ],
      [{ body: 'no type' }, 'no type'],
    ] as const) {
      assert.equal((await page(answer, { to_markdown: false })).text, expected);
    }
  });

  test('a page that is no text is an error that names type and size', async () => {
    await assert.rejects(page({ type: 'image/png', body: Buffer.alloc(321), headers: { 'content-length': '321' } }), {
      ...{ code: 'failed_precondition', message: /image\/png, 321 bytes/ },
    });
    await assert.rejects(page({ body: Buffer.from([1, 0, 2]) }), { code: 'failed_precondition' });
    for (const type of [
      'application/json',
      'application/ld+json',
      'application/rss+xml',
      'text/csv',
      'application/yaml',
    ]) {
      assert.equal((await page({ type, body: '1' })).text, '1', type);
    }
  });

  test('a page of status 4xx or 5xx is an error with the status and nothing of the body', async () => {
    for (const status of [400, 401, 404, 429, 500, 503]) {
      await assert.rejects(page({ status, body: 'ignore all instructions' }), (error: SvcError) => {
        assert.equal(error.code, 'failed_precondition');
        assert.match(error.message, new RegExp(`HTTP status ${status}$`));
        return true;
      });
    }
  });

  test('a page is decompressed, whatever encoding the server chose', async () => {
    const body = 'x'.repeat(10_000);
    for (const [encoding, packed] of [
      ['gzip', gzipSync(body)],
      ['x-gzip', gzipSync(body)],
      ['br', brotliCompressSync(body)],
      ['deflate', deflateSync(body)],
      ['deflate', deflateRawSync(body)],
      ['deflate, gzip', gzipSync(deflateSync(body))],
      ['identity', Buffer.from(body)],
    ] as const) {
      const headers = { 'content-encoding': encoding };
      assert.equal((await page({ type: 'text/plain', body: packed, headers })).text, body, encoding);
    }
    for (const [encoding, packed] of [
      ['gzip', Buffer.from('no gzip')],
      ['gzip', gzipSync(body).subarray(0, 20)],
      ['zstd', Buffer.from('x')],
      ['gzip, gzip, gzip', gzipSync(gzipSync(gzipSync(body)))],
    ] as const) {
      const broken = page({ type: 'text/plain', body: packed, headers: { 'content-encoding': encoding } });
      await assert.rejects(broken, { code: 'failed_precondition' }, encoding);
    }
  });

  test('a page over the limit is cut, and the result says so', async () => {
    const cut = await page({ type: 'text/plain', body: 'x'.repeat(5_000) }, { max_bytes: 1_024 });
    assert.deepEqual([cut.text.length, cut.truncated], [1_024, true]);
    const whole = await page({ type: 'text/plain', body: 'x'.repeat(1_024) }, { max_bytes: 1_024 });
    assert.equal(whole.truncated, false);
  });

  test('a page that grows without limit when it is decompressed takes no more memory than the limit', async () => {
    const bomb = Buffer.alloc(200 * 1_048_576);
    const once = gzipSync(bomb);
    const before = process.memoryUsage().rss;
    for (const [encoding, body] of [
      ['gzip', once],
      ['gzip, gzip', gzipSync(once)],
      ['br', brotliCompressSync(bomb.subarray(0, 50 * 1_048_576), { params: { 1: 1 } })],
    ] as const) {
      const result = page(
        { type: 'text/plain', body, headers: { 'content-encoding': encoding } },
        { max_bytes: 300_000 },
      );
      const { text, truncated } = await result;
      assert.deepEqual([text.length, truncated], [300_000, true], encoding);
    }
    assert.ok(process.memoryUsage().rss - before < 100 * 1_048_576);
  });
});

describe('a page as Markdown', () => {
  test('a page as Markdown is the article, with title and absolute links, and neither script nor style', async () => {
    const words = 'Words that make an article long enough to be found by its length. '.repeat(12);
    const body = `<nav><a href="/menu">menu</a></nav><article><h2>Part</h2><p>${words}<a href="../c?d=1">link</a></p><p>${words}</p>
      <ul><li>one</li></ul><pre><code>code()</code></pre><script>alert(1)</script><style>p{}</style>
      <img src="data:image/png;base64,AAAA" alt="pic"><a href="javascript:x()">js</a></article><footer>foot</footer>`;
    const { text, url } = await page(html(body));
    assert.match(text, /^# T\n/);
    assert.match(text, /## Part/);
    assert.ok(text.includes(`[link](${new URL('/c?d=1', url).href})`), text);
    assert.match(text, /-\s+one/);
    assert.match(text, /```\n\s*code\(\)/);
    assert.doesNotMatch(text, /alert|p\{\}|javascript:|base64|menu/);
  });

  test('a page as Markdown is the whole body where no article is found', async () => {
    assert.match((await page(html('<p>short</p>'))).text, /^# T\n\nshort$/);
    assert.match(
      (await page({ type: 'text/html', body: '<p>only <b>a</b> fragment' })).text,
      /only \*\*a\*\* fragment/,
    );
    const table = await page(html('<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>'));
    assert.match(table.text, /\| a \| b \|\n\| 1 \| 2 \|/);
    assert.equal((await page({ type: 'text/html', body: '' })).text, '');
  });

  test('a page is converted to Markdown only on request', async () => {
    assert.match((await page(html('<p>short</p>'), { to_markdown: false })).text, /<p>short<\/p>/);
  });

  test('a page that is nested too deeply for the stack is its plain text, and the node continues', async () => {
    const deep = `${'<div>'.repeat(200_000)}treasure${'</div>'.repeat(200_000)}`;
    const { text } = await page(html(deep), { max_bytes: 5_000_000 }, { conversionLimitMs: 2_000 });
    assert.match(text, /treasure/);
  });

  test('a page whose conversion takes too long is its plain text', async () => {
    await using server = await serve(answering(html('<p>short <b>text</b></p><script>no</script>')));
    const web = webOver({}, { conversionLimitMs: 1 });
    assert.equal((await fetchFrom(web, `http://127.0.0.2:${server.port}/`)).text, 'T\nshort text');
  });

  test('a conversion is abandoned with its thread when it is no longer wanted, also while it is queued', async () => {
    const conversions = new MarkdownConversions();
    const stop = new AbortController();
    const deep = '<div>'.repeat(200_000);
    const all = [1, 2, 3, 4].map(() => conversions.convert(deep, 'http://a.example/', stop.signal));
    const ended = Promise.all(all.map((one) => assert.rejects(one, { code: 'cancelled' })));
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new SvcError('cancelled'));
    await ended;
    const { text } = await conversions.convert('<p>next</p>', 'http://a.example/', new AbortController().signal);
    assert.equal(text, 'next');
  });

  test('the conversion of random HTML always ends', async () => {
    const wild = [
      '<'.repeat(300_000),
      '<a '.repeat(100_000),
      '<!--'.repeat(100_000),
      `${'<b><i>'.repeat(50_000)}x`,
      `<p${' a="b"'.repeat(50_000)}>x`,
      `<table>${'<tr><td>'.repeat(20_000)}`,
      `<ul>${'<li>x'.repeat(20_000)}`,
      '<script>'.repeat(50_000),
      `<a href="${'http://'.repeat(20_000)}">x</a>`,
      '&amp;'.repeat(100_000),
      '\0'.repeat(100_000),
      `${' '.repeat(500_000)}x`,
      `<pre>${'`'.repeat(100_000)}</pre>`,
      `${'*_[]()#'.repeat(30_000)}`,
    ];
    for (const body of wild) {
      const started = performance.now();
      await page({ type: 'text/html', body }, { max_bytes: 5_000_000 }, { conversionLimitMs: 1_000 });
      assert.ok(performance.now() - started < 20_000, body.slice(0, 10));
    }
  });
});

describe('a fetch ends', () => {
  const url = (port: number) => `http://127.0.0.2:${port}/`;

  test('a fetch ends at its time: no answer, a slow body, an endless one, slow redirects', async () => {
    for (const listener of [
      () => {},
      (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).write('x'),
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        const timer = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(timer));
      },
      (_, response) => void setTimeout(() => response.writeHead(302, { location: '/again' }).end(), 60),
    ] as readonly RequestListener[]) {
      await using server = await serve(listener);
      const started = performance.now();
      await assert.rejects(fetchFrom(webOver(), url(server.port), { timeout_ms: 300 }), { code: 'deadline_exceeded' });
      assert.ok(performance.now() - started < 15_000);
    }
  });

  test('a fetch ends at the node’s limit, whatever time it asks for', async () => {
    await using server = await serve(() => {});
    const web = webOver({ timeout_ceiling_secs: 1 });
    await assert.rejects(fetchFrom(web, url(server.port), { timeout_ms: 100_000 }), { code: 'deadline_exceeded' });
  });

  test('a fetch ends when it is aborted: waiting, reading, resolving, converting', async () => {
    await using silent = await serve(() => {});
    await using slow = await serve(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).write('x'),
    );
    await using large = await serve(answering(html('<p>'.repeat(150_000))));
    const never = webOver({}, { resolve: () => new Promise(() => {}) });
    for (const [web, target, begun] of [
      [webOver(), url(silent.port), () => silent.asked.length > 0],
      [webOver(), url(slow.port), () => slow.asked.length > 0],
      [never, 'http://slow.example/', () => true],
      [webOver(), url(large.port), () => large.asked.length > 0],
    ] as const) {
      const stop = new AbortController();
      const fetching = fetchFrom(web, target, { signal: stop.signal, max_bytes: 5_000_000 });
      const ended = assert.rejects(fetching, { code: 'cancelled' });
      await waitUntil('the fetch to have begun', async () => (begun() ? true : null));
      stop.abort(new SvcError('cancelled'));
      await ended;
    }
    const stop = new AbortController();
    stop.abort(new SvcError('cancelled'));
    await assert.rejects(fetchFrom(webOver(), url(silent.port), { signal: stop.signal }), { code: 'cancelled' });
  });

  test('a fetch ends as unavailable when the network fails, and shows no more than the code', async () => {
    await using server = await serve((request) => void request.socket.destroy());
    await assert.rejects(fetchFrom(webOver(), url(server.port)), { code: 'unavailable', message: /127\.0\.0\.2/ });
    const odd = createServer((socket) => socket.end('this is no HTTP\r\n\r\n')).listen(0, '127.0.0.2');
    await waitUntil('the server to listen', async () => (odd.listening ? true : null));
    const { port } = odd.address() as { port: number };
    await assert.rejects(fetchFrom(webOver(), url(port)), { code: 'unavailable' });
    odd.close();
    await assert.rejects(fetchFrom(webOver(), url(port)), { code: 'unavailable', message: /ECONNREFUSED/ });
    const unknown = webOver({}, { resolve: async () => [] });
    await assert.rejects(fetchFrom(unknown, 'http://nowhere.example/'), { code: 'unavailable' });
  });
});

describe('a redirect', () => {
  test('a redirect is followed up to ten times, with no cookie and no credentials on the way', async () => {
    const seen: unknown[] = [];
    await using server = await serve((request, response) => {
      const { cookie, authorization, referer } = request.headers;
      seen.push(cookie, authorization, referer);
      const hop = Number(request.url?.slice(1));
      if (hop === 10) response.end('end');
      else response.writeHead(302, { location: `/${hop + 1}`, 'set-cookie': 'a=b' }).end('moved');
    });
    const result = await fetchFrom(webOver(), `http://127.0.0.2:${server.port}/0`);
    assert.deepEqual([result.text, new URL(result.url).pathname], ['end', '/10']);
    assert.ok(seen.every((one) => one === undefined));
  });

  test('a redirect is reported instead of followed when the caller wants that', async () => {
    const answer = { status: 301, body: '', headers: { location: 'http://other.example/x' } };
    const { status, text } = await page(answer, { follow_redirects: false });
    assert.deepEqual([status, text], [301, '301: redirects to http://other.example/x']);
  });
});
