import assert from 'node:assert/strict';
import { WEB_ESCAPES, type WebEscape } from '../effects/web/escapes.ts';
import type { Escape } from './escape.ts';
import { assertHarmless, type EscapeTargets, type Said } from './escape-targets.ts';

const REFUSED = /^(DomainNotAllowed|InvalidArguments)$/;
const ENDED = /^(FetchFailed|TimedOut|OutputSizeLimitExceeded)$/;
const NOT_FOLLOWED = /^(FetchFailed|DomainNotAllowed|InvalidArguments)$/;
const AT_MOST_MS = 20_000;

async function fetched(at: EscapeTargets, url: string, more: object = {}): Promise<Said> {
  const since = performance.now();
  const said = await at.call('web.fetch', { url, ...more });
  assertHarmless(said);
  assert.ok(performance.now() - since < AT_MOST_MS);
  assert.ok(said.text.length < 24_000_000, `${said.text.length} characters`);
  return said;
}

/** The table of addresses once more, through the whole node: those that need no resolver and no public address. */
const plain = ({ url, names, redirects, title }: WebEscape): boolean =>
  names === undefined &&
  redirects === undefined &&
  !/open\.example|denied/i.test(url) &&
  !url.includes('198.41.') &&
  !title.startsWith('a zone');

const again = (row: WebEscape): Escape => ({
  ...{ title: `web.fetch of ${row.title.slice(0, 100)}`, kind: 'web' },
  async attempt(at) {
    const said = await fetched(at, row.url.replaceAll('PORT', String(at.hidden.port)));
    assert.match(said.code, REFUSED, said.said);
    assert.deepEqual(at.hidden.asked, []);
  },
});

const redirected = (title: string, target: string): Escape => ({
  ...{ title: `a redirect through the node to ${title}`, kind: 'web' },
  async attempt(at) {
    const url = `http://127.0.0.2:${at.pages.port}/to/${encodeURIComponent(target)}`;
    const visits = at.pages.asked.length;
    const said = await fetched(at, url);
    assert.match(said.code, NOT_FOLLOWED, said.said);
    assert.equal(at.pages.asked.length, visits + 1, 'the page that redirects was visited');
    assert.deepEqual(at.hidden.asked, []);
  },
});

/** Ends, as a page or as an error, with little of it. */
const bounded = (title: string, path: string, code?: RegExp): Escape => ({
  ...{ title: `a page that is ${title}`, kind: 'web' },
  async attempt(at) {
    const visits = at.pages.asked.length;
    const said = await fetched(at, `http://127.0.0.2:${at.pages.port}/${path}`);
    assert.ok(at.pages.asked.length > visits, `it was not asked for: ${said.said.slice(0, 200)}`);
    // More than 4 MiB of text is more than a gRPC client takes by default.
    if (said.status === 'RESOURCE_EXHAUSTED') return;
    if (code !== undefined) assert.match(said.code, code, said.said.slice(0, 200));
    else if (said.isError) assert.match(said.code, ENDED, said.said.slice(0, 200));
  },
});

const own = (title: string, url: (at: EscapeTargets) => string): Escape => ({
  ...{ title: `web.fetch of ${title}`, kind: 'web' },
  attempt: async (at) => assert.match((await fetched(at, url(at))).code, REFUSED),
});

export const WEB: readonly Escape[] = [
  ...WEB_ESCAPES.filter(plain).map(again),
  redirected('loopback', 'http://127.0.0.1:HIDDEN/'),
  redirected('decimal loopback', 'http://2130706433:HIDDEN/'),
  redirected('hexadecimal loopback', 'http://0x7f000001:HIDDEN/'),
  redirected('IPv4 in IPv6', 'http://[::ffff:127.0.0.1]:HIDDEN/'),
  redirected('IPv6 loopback', 'http://[::1]:HIDDEN/'),
  redirected('localhost', 'http://localhost:HIDDEN/'),
  redirected('metadata', 'http://169.254.169.254/latest/'),
  redirected('a file', 'file:///etc/passwd'),
  redirected('gopher', 'gopher://127.0.0.1:HIDDEN/'),
  redirected('loopback without a scheme', '//127.0.0.1:HIDDEN/'),
  redirected('loopback with a user', 'http://u:p@127.0.0.1:HIDDEN/'),
  bounded('a redirect without end', 'hop/0', ENDED),
  bounded('64 MiB packed with gzip', 'bomb/gzip', ENDED),
  bounded('32 MiB packed with brotli', 'bomb/brotli', ENDED),
  bounded('a gigabyte in members of gzip', 'bomb/gzip-members', ENDED),
  bounded('packed twice', 'bomb/gzip-twice', ENDED),
  bounded('packed and cut short', 'bomb/cut-short', ENDED),
  bounded('endless', 'endless'),
  bounded('a drip', 'drip'),
  bounded('silent', 'silent', ENDED),
  bounded('said to be 100 GB', 'length', ENDED),
  bounded('no text', 'binary', ENDED),
  bounded('behind 200,000 bytes of headers', 'headers', ENDED),
  bounded('200,000 elements deep', 'html/deep'),
  bounded('tables in tables', 'html/tables'),
  bounded('one element with 100,000 attributes', 'html/attributes'),
  bounded('half a million entities', 'html/entities'),
  bounded('a script that never ends', 'html/script'),
  own('the node itself', ({ node }) => `${node.url}/v1/agents`),
  own('the node itself by name', ({ node }) => `http://localhost:${node.port}/v1/agents`),
  own('the node itself in IPv6', ({ node }) => `http://[::ffff:127.0.0.1]:${node.port}/v1/agents`),
];
